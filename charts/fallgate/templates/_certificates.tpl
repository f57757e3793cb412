{{/* What the webhook configurations say about where their caBundle comes from. */}}
{{- define "fallgate.configurationAnnotations" -}}
{{- $annotations := dict -}}
{{- if eq .Values.certificates.mode "cert-manager" -}}
{{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/%s" .Release.Namespace (include "fallgate.fullname" .)) -}}
{{- end -}}
{{- with merge $annotations .Values.webhook.annotations -}}
annotations: {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* What a certificate of cert-manager is for: DNS names and addresses apart. */}}
{{- define "fallgate.certificateNames" -}}
{{- $name := include "fallgate.fullname" . -}}
{{- $names := list (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) -}}
{{- $addresses := list -}}
{{- range include "fallgate.extraNames" . | fromJsonArray -}}
{{- if regexMatch "^[0-9.]+$|:" . -}}
{{- $addresses = append $addresses . -}}
{{- else -}}
{{- $names = append $names . -}}
{{- end -}}
{{- end -}}
dnsNames: {{ toJson $names }}
{{- with $addresses }}
ipAddresses: {{ toJson . }}
{{- end -}}
{{- end -}}

{{/* Those that do not follow from the Service: the host of webhook.url, and what certificates.dnsNames adds. */}}
{{- define "fallgate.extraNames" -}}
{{- $names := .Values.certificates.dnsNames -}}
{{- with .Values.webhook.url -}}
{{- $host := (urlParse .).host -}}
{{- $names = prepend $names (regexReplaceAll "^\\[?([^\\]]*?)\\]?(:[0-9]+)?$" $host "${1}") -}}
{{- end -}}
{{- toJson (uniq $names) -}}
{{- end -}}
