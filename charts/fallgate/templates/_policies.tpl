{{/* The packs of this chart by name, as a JSON list. */}}
{{- define "fallgate.knownPacks" -}}
{{- $names := list -}}
{{- range $path, $_ := .Files.Glob "packs/*.yaml" -}}
{{- $names = append $names (trimSuffix ".yaml" (base $path)) -}}
{{- end -}}
{{- sortAlpha $names | toJson -}}
{{- end -}}

{{/* A pack without its own ModeCap: in the chart `mode` and `caps` are the place for that. Arguments: context, name. */}}
{{- define "fallgate.pack" -}}
{{- $root := index . 0 -}}
{{- $kept := list -}}
{{- range splitList "\n---\n" ($root.Files.Get (printf "packs/%s.yaml" (index . 1))) -}}
{{- if ne (get (fromYaml .) "kind") "ModeCap" -}}
{{- $kept = append $kept (trimSuffix "\n" .) -}}
{{- end -}}
{{- end -}}
{{- join "\n---\n" $kept -}}
{{- end -}}

{{/* `mode: warn` and `caps`, as policies. */}}
{{- define "fallgate.caps" -}}
{{- $caps := .Values.caps -}}
{{- if eq .Values.mode "warn" -}}
{{- $caps = prepend $caps (dict "mode" "warn") -}}
{{- end -}}
{{- range $index, $cap := $caps }}
---
apiVersion: fallgate.dev/v1alpha1
kind: ModeCap
metadata: {name: values-{{ $index }}}
spec: {{ toJson $cap }}
{{- end -}}
{{- end -}}
