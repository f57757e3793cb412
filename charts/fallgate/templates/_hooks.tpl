{{/* What the entries of the two webhook configurations have in common. */}}

{{/* Where the API server finds Fallgate. Arguments: context, path. */}}
{{- define "fallgate.clientConfig" -}}
{{- $root := index . 0 -}}
{{- $path := index . 1 -}}
{{- if $root.Values.webhook.url -}}
url: {{ printf "%s/%s" (trimSuffix "/" $root.Values.webhook.url) $path | quote }}
{{- else -}}
service:
  name: {{ include "fallgate.fullname" $root }}
  namespace: {{ $root.Release.Namespace }}
  path: /{{ $path }}
  port: 443
{{- end }}
{{- with $root.Values.certificates.caBundle }}
caBundle: {{ b64enc . }}
{{- end }}
{{- end -}}

{{/* Never kube-system, our own namespace, and those the values name. */}}
{{- define "fallgate.notExcluded" -}}
- key: kubernetes.io/metadata.name
  operator: NotIn
  values: {{ include "fallgate.excludedNamespaces" . }}
{{- end -}}

{{/*
The failurePolicy of namespaces where Fallgate enforces, of those without a mode label, and of the rest. Where `mode` caps
everything below enforce nothing is enforced anywhere.
*/}}
{{- define "fallgate.failsWhereEnforced" -}}
{{- if eq .Values.mode "enforce" -}}{{ .Values.webhook.failurePolicy.enforced }}{{- else -}}Ignore{{- end -}}
{{- end -}}

{{/* The two halves of the mode label. Argument: context. */}}
{{- define "fallgate.enforced" -}}
{{- if eq .Values.webhook.failurePolicy.unlabelled "Fail" -}}
- {key: fallgate.dev/mode, operator: NotIn, values: [warn, audit, "off"]}
{{- else -}}
- {key: fallgate.dev/mode, operator: In, values: [enforce]}
{{- end -}}
{{- end -}}
{{- define "fallgate.notEnforced" -}}
{{- if eq .Values.webhook.failurePolicy.unlabelled "Fail" -}}
- {key: fallgate.dev/mode, operator: In, values: [warn, audit, "off"]}
{{- else -}}
- {key: fallgate.dev/mode, operator: NotIn, values: [enforce]}
{{- end -}}
{{- end -}}

{{/*
The versions of resource.k8s.io in the rules. With v1 alone the API server converts what is sent in another version; before
1.34 it does not serve v1. There v1 is in the list nevertheless, so that an upgrade of the cluster opens no gap.
*/}}
{{- define "fallgate.resourceVersions" -}}
{{- if .Values.webhook.resourceVersions -}}
{{- toJson .Values.webhook.resourceVersions -}}
{{- else if semverCompare ">=1.34.0-0" .Capabilities.KubeVersion.Version -}}
["v1"]
{{- else -}}
["v1","v1beta2","v1beta1"]
{{- end -}}
{{- end -}}
{{- define "fallgate.taintRuleVersions" -}}
{{- if semverCompare ">=1.37.0-0" .Capabilities.KubeVersion.Version -}}
["v1"]
{{- else -}}
["v1","v1beta2","v1alpha3"]
{{- end -}}
{{- end -}}

{{/* Claims and templates: what is new, or asks for something else. Finalizers, status and metadata pass by. */}}
{{- define "fallgate.condition.specChanges" -}}
- name: created-or-spec-changed
  expression: request.operation == "CREATE" || object.spec != oldObject.spec
{{- end -}}

{{/* What kube-scheduler makes for extended resources while it binds a pod: both, since anybody can write the annotation. */}}
{{- define "fallgate.condition.notOfTheScheduler" -}}
- name: not-of-the-scheduler
  expression: >-
    !(request.userInfo.username in {{ toJson .Values.schedulerUsers }} &&
    has(object.metadata.annotations) &&
    "resource.kubernetes.io/extended-resource-claim" in object.metadata.annotations &&
    object.metadata.annotations["resource.kubernetes.io/extended-resource-claim"] == "true")
{{- end -}}

{{/* A pod spec that asks for devices: claims, or a limit whose key contains a slash. Argument: where it is. */}}
{{- define "fallgate.asksDevices" -}}
(has({{ . }}.resourceClaims) && size({{ . }}.resourceClaims) > 0) ||
{{ . }}.containers.exists(c, has(c.resources) && has(c.resources.limits) && c.resources.limits.exists(k, k.contains("/"))) ||
(has({{ . }}.initContainers) &&
{{ . }}.initContainers.exists(c, has(c.resources) && has(c.resources.limits) && c.resources.limits.exists(k, k.contains("/"))))
{{- end -}}
{{- define "fallgate.condition.podAsksDevices" -}}
- name: asks-for-devices
  expression: >-
    {{- include "fallgate.asksDevices" "object.spec" | nindent 4 }}
{{- end -}}
