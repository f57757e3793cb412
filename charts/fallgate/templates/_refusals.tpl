{{/* Values that contradict each other: what is wrong, what would happen, what to write. */}}
{{- define "fallgate.refusals" -}}

{{- $name := include "fallgate.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "\n\nthe release %s: the Service would be called %s, which Kubernetes refuses: its name has lower case letters, digits and -, and begins with a letter. Write fullnameOverride: fallgate, or install under a name without a dot that begins with a letter.\n" .Release.Name $name) -}}
{{- end -}}

{{- $own := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart" "pod-template-hash" -}}
{{- $labels := dict "labels" .Values.labels "deployment.podLabels" .Values.deployment.podLabels "metrics.serviceMonitor.labels" .Values.metrics.serviceMonitor.labels "metrics.dashboard.labels" .Values.metrics.dashboard.labels -}}
{{- range $place, $given := $labels -}}
{{- range $key, $_ := $given -}}
{{- if has $key $own -}}
{{- fail (printf "\n\n%s: the key %s is set already: by such labels the Service, the Deployment and the NetworkPolicy find their pods, and Helm what it has installed. Write a key of your own, for instance example.com/%s; the name in these labels is changed by nameOverride.\n" $place $key (regexReplaceAll "^.*/" $key "")) -}}
{{- end -}}
{{- if and (ne $place "labels") (hasKey $.Values.labels $key) -}}
{{- fail (printf "\n\n%s: the key %s is in labels too, which are on every object: one label cannot have two values. Write it in one of the two places, or under another key.\n" $place $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- $known := include "fallgate.knownPacks" . | fromJsonArray -}}
{{- range .Values.policies.packs -}}
{{- if not (has . $known) -}}
{{- fail (printf "\n\npolicies.packs: there is no pack %q. The packs of this chart are %s. Policies of your own go into policies.files, or into a ConfigMap named in policies.configMaps.\n" . (join ", " $known)) -}}
{{- end -}}
{{- end -}}

{{- if not (or .Values.policies.packs .Values.policies.files .Values.policies.configMaps) -}}
{{- fail "\n\npolicies: there are none, so that Fallgate would never become ready. Write policies.packs: [starter], or policies of your own in policies.files or policies.configMaps.\n" -}}
{{- end -}}

{{- if has "chart" .Values.policies.configMaps -}}
{{- fail "\n\npolicies.configMaps: a ConfigMap called chart would be mounted where this chart's own policies are. Make one of another name, for instance chart-policies, and write that.\n" -}}
{{- end -}}
{{- with .Values.capConfigMap -}}
{{- if or (eq . (printf "%s-policies" $name)) (has . $.Values.policies.configMaps) (eq . $.Values.certificates.clientCA.configMap) -}}
{{- fail (printf "\n\ncapConfigMap: the ConfigMap %s has another use: it is there from the start and is no cap, so that everything would be capped at audit. Write a name that no other ConfigMap has, for instance capConfigMap: fallgate-cap.\n" .) -}}
{{- end -}}
{{- end -}}

{{- range $file, $_ := .Values.policies.files -}}
{{- if or (regexMatch "^tests\\.ya?ml$" $file) (regexMatch "^pack-|^caps\\.yaml$" $file) -}}
{{- fail (printf "\n\npolicies.files: the name %s is taken: tests.yaml is where the tests of a pack are, pack-... and caps.yaml are made by this chart. Write another name.\n" $file) -}}
{{- end -}}
{{- end -}}

{{- if and .Values.deployment.enabled (not .Values.image.repository) -}}
{{- fail "\n\nimage.repository: there is none. No image of Fallgate is published: build one from the Dockerfile of this tree, push it where your nodes pull from, and write its name without the tag, for instance --set image.repository=registry.example.com/fallgate.\n" -}}
{{- end -}}

{{- $fails := and (eq .Values.mode "enforce") (eq .Values.webhook.failurePolicy.enforced "Fail") -}}
{{- if and $fails .Values.deployment.enabled (lt (int .Values.deployment.replicas) 2) -}}
{{- fail (printf "\n\ndeployment.replicas: %d, with mode: enforce and webhook.failurePolicy.enforced: Fail: whenever that one pod restarts or moves, no claim and no pod with devices can be created where Fallgate enforces. Write deployment.replicas: 2 or more, or webhook.failurePolicy.enforced: Ignore.\n" (int .Values.deployment.replicas)) -}}
{{- end -}}
{{- if and (eq .Values.webhook.failurePolicy.unlabelled "Fail") (eq .Values.webhook.failurePolicy.enforced "Ignore") -}}
{{- fail "\n\nwebhook.failurePolicy: unlabelled: Fail with enforced: Ignore would be stricter with namespaces that have no label fallgate.dev/mode than with those that say enforce. Write enforced: Fail as well, or unlabelled: Ignore.\n" -}}
{{- end -}}

{{- if and (not .Values.deployment.enabled) (not .Values.webhook.url) -}}
{{- fail "\n\ndeployment.enabled: false, and no webhook.url: nothing would answer the API server. Write the address of the Fallgate that runs outside the cluster, for instance webhook.url: https://fallgate.example.com:8443, or deployment.enabled: true.\n" -}}
{{- end -}}
{{- if and (not .Values.deployment.enabled) .Values.metrics.serviceMonitor.enabled -}}
{{- fail "\n\nmetrics.serviceMonitor.enabled: true with deployment.enabled: false: there is no Service to scrape. Write metrics.serviceMonitor.enabled: false, and have Prometheus scrape the Fallgate outside the cluster.\n" -}}
{{- end -}}

{{- if eq .Values.certificates.mode "cert-manager" -}}
{{- if not .Values.certificates.issuer.name -}}
{{- fail "\n\ncertificates.mode: cert-manager without an issuer: cert-manager would not know who signs. Write certificates.issuer.name (and certificates.issuer.kind: ClusterIssuer, if it is one), or certificates.mode: self.\n" -}}
{{- end -}}
{{- if not .Values.deployment.enabled -}}
{{- fail "\n\ncertificates.mode: cert-manager with deployment.enabled: false: cert-manager would put the certificate into a Secret of this cluster, which a Fallgate outside does not mount. Write certificates.mode: secret and the authority of its certificate in certificates.caBundle, or certificates.mode: self.\n" -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.certificates.mode "secret" -}}
{{- if and .Values.deployment.enabled (not .Values.certificates.secretName) -}}
{{- fail "\n\ncertificates.mode: secret without certificates.secretName: there is no certificate to serve. Write the name of a Secret of type kubernetes.io/tls in this namespace, or certificates.mode: self.\n" -}}
{{- end -}}
{{- if and (not .Values.certificates.caBundle) (not .Values.webhook.url) -}}
{{- fail "\n\ncertificates.mode: secret without certificates.caBundle: the API server would trust no certificate for a Service. Write the PEM of the authority that signed it, for instance with --set-file certificates.caBundle=ca.crt, or certificates.mode: self.\n" -}}
{{- end -}}
{{- else if .Values.certificates.caBundle -}}
{{- fail (printf "\n\ncertificates.caBundle with certificates.mode: %s: in this mode the bundle is kept right by %s, and every upgrade would set it back. Write certificates.mode: secret, or leave certificates.caBundle empty.\n" .Values.certificates.mode (eq .Values.certificates.mode "self" | ternary "Fallgate" "cert-manager")) -}}
{{- end -}}
{{- if and .Values.certificates.clientCA.names (not .Values.certificates.clientCA.configMap) -}}
{{- fail "\n\ncertificates.clientCA.names without certificates.clientCA.configMap: there is no authority to check the API server's certificate against. Write the name of a ConfigMap of this namespace with the key ca.crt.\n" -}}
{{- end -}}
{{- if and .Values.certificates.clientCA.configMap (not .Values.certificates.clientCA.names) -}}
{{- fail "\n\ncertificates.clientCA.configMap without certificates.clientCA.names: every certificate of that authority could ask for decisions. Write the names that the API server's own certificate carries, for instance certificates.clientCA.names: [kube-apiserver].\n" -}}
{{- end -}}

{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- fail "\n\nserviceAccount.create: false without serviceAccount.name: the rights would go to the namespace's default account. Write the name of the account to use.\n" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) -}}
{{- fail "\n\nmetrics.serviceMonitor.enabled: true with metrics.enabled: false: there would be nothing to scrape. Write metrics.enabled: true.\n" -}}
{{- end -}}
{{- end -}}
