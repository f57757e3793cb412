{{/* Controllers of custom resources that Fallgate knows by itself. */}}
{{- define "fallgate.workloadPresets" -}}
jobset:
  group: jobset.x-k8s.io
  resources: [jobsets]
leaderworkerset:
  group: leaderworkerset.x-k8s.io
  resources: [leaderworkersets]
kubeflow:
  group: kubeflow.org
  resources: [pytorchjobs, tfjobs, mpijobs]
ray:
  group: ray.io
  resources: [rayclusters, rayjobs, rayservices]
{{- end -}}
