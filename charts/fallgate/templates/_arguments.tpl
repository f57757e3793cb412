{{/* The options of `fallgate serve`, as a YAML list. */}}
{{- define "fallgate.arguments" -}}
{{- $name := include "fallgate.fullname" . -}}
{{- $arguments := list "serve" "--cluster" -}}
{{- $arguments = append $arguments (printf "--namespace=%s" .Release.Namespace) -}}
{{- $arguments = append $arguments "--policies=/etc/fallgate/policies" -}}
{{- $arguments = append $arguments (printf "--cap-configmap=%s" .Values.capConfigMap) -}}
{{- $arguments = append $arguments (printf "--listen=%s:8443" .Values.deployment.listenAddress) -}}
{{- $arguments = append $arguments (printf "--metrics-listen=%s:8080" .Values.deployment.listenAddress) -}}
{{- $arguments = append $arguments (printf "--exclude-namespaces=%s" (include "fallgate.excludedNamespaces" . | fromJsonArray | join ",")) -}}
{{- $arguments = append $arguments (printf "--scheduler-users=%s" (join "," .Values.schedulerUsers)) -}}
{{- $arguments = append $arguments (printf "--stance=%s" .Values.stance) -}}
{{- if eq .Values.mode "audit" -}}
{{- $arguments = append $arguments "--audit-only" -}}
{{- end -}}
{{- $features := list -}}
{{- range $value, $feature := dict "pods" "pods" "quotas" "quotas" "owners" "owners" "taintRules" "taint-rules" "queues" "queues" -}}
{{- if get $.Values.features $value -}}
{{- $features = append $features $feature -}}
{{- end -}}
{{- end -}}
{{- $arguments = append $arguments (printf "--features=%s" (join "," $features)) -}}
{{- if eq .Values.certificates.mode "self" -}}
{{- $arguments = append $arguments (printf "--certs-secret=%s" (include "fallgate.certsSecret" .)) -}}
{{- $arguments = append $arguments (printf "--webhook-configurations=%s" $name) -}}
{{- else -}}
{{- $arguments = append $arguments "--certs=/etc/fallgate/certs" -}}
{{- end -}}
{{- /* What a certificate must be for: a Secret of the organisation need not know the Service when a URL is called. */ -}}
{{- if not (and (eq .Values.certificates.mode "secret") .Values.webhook.url) -}}
{{- $arguments = append $arguments (printf "--service=%s" $name) -}}
{{- end -}}
{{- with include "fallgate.extraNames" . | fromJsonArray -}}
{{- $arguments = append $arguments (printf "--dns-names=%s" (join "," .)) -}}
{{- end -}}
{{- if .Values.certificates.clientCA.configMap -}}
{{- $arguments = append $arguments "--client-ca=/etc/fallgate/client-ca/ca.crt" -}}
{{- $arguments = append $arguments (printf "--client-names=%s" (join "," .Values.certificates.clientCA.names)) -}}
{{- end -}}
{{- if ne (int .Values.staleAfterSeconds) 300 -}}
{{- $arguments = append $arguments (printf "--stale-after-seconds=%d" (int .Values.staleAfterSeconds)) -}}
{{- end -}}
{{- $gates := list -}}
{{- range $gate, $on := .Values.featureGates -}}
{{- $gates = append $gates (printf "%s=%t" $gate $on) -}}
{{- end -}}
{{- with $gates -}}
{{- $arguments = append $arguments (printf "--feature-gates=%s" (join "," .)) -}}
{{- end -}}
{{- if gt (int .Values.deployment.workers) 1 -}}
{{- $arguments = append $arguments (printf "--workers=%d" (int .Values.deployment.workers)) -}}
{{- end -}}
{{- with .Values.messages.help -}}
{{- $arguments = append $arguments (printf "--message-help=%s" .) -}}
{{- end -}}
{{- $arguments = append $arguments (printf "--log-format=%s" .Values.logs.format) -}}
{{- $arguments = append $arguments (printf "--decision-log=%s" (.Values.logs.decisions | ternary "-" "none")) -}}
{{- toYaml $arguments -}}
{{- end -}}
