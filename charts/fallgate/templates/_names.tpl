{{/* Names and labels. A release called fallgate gives objects called fallgate. */}}

{{- define "fallgate.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "fallgate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "fallgate.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "fallgate.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "fallgate.selectorLabels" -}}
app.kubernetes.io/name: {{ include "fallgate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "fallgate.labels" -}}
{{ include "fallgate.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "fallgate.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "fallgate.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The Secret with the serving certificate, whoever fills it. */}}
{{- define "fallgate.certsSecret" -}}
{{- .Values.certificates.secretName | default (printf "%s-certs" (include "fallgate.fullname" .)) -}}
{{- end -}}

{{/* The PriorityClass of the pods; nothing for none. */}}
{{- define "fallgate.priorityClass" -}}
{{- if .Values.priorityClass.create -}}
{{- .Values.priorityClass.name | default (include "fallgate.fullname" .) -}}
{{- else -}}
{{- .Values.priorityClass.name -}}
{{- end -}}
{{- end -}}

{{/* Namespaces that are never judged, as a JSON list: by selector in the webhook configurations, and in the program. */}}
{{- define "fallgate.excludedNamespaces" -}}
{{- concat (list "kube-system" .Release.Namespace) .Values.excludeNamespaces | uniq | sortAlpha | toJson -}}
{{- end -}}

{{- define "fallgate.image" -}}
{{- with .Values.image -}}
{{- $tag := .tag | default $.Chart.AppVersion -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ $tag }}{{- end -}}
{{- end -}}
{{- end -}}
