{{/* Names are fixed: the Role names the Lease and the key, and jobs' NetworkPolicies name the pods. */}}
{{- define "paceline.labels" -}}
app.kubernetes.io/name: paceline-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "paceline.selector" -}}
app.kubernetes.io/name: paceline-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* (list ROOT IMAGE) */}}
{{- define "paceline.image" -}}
{{- $root := index . 0 }}{{ $image := index . 1 }}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}
{{- else }}{{ $image.repository }}:{{ $image.tag | default $root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* (list ROOT KIND NAME): the rules that manifests/rbac.yaml gives it. */}}
{{- define "paceline.rules" -}}
{{- $root := index . 0 }}{{ $kind := index . 1 }}{{ $name := index . 2 }}
{{- range splitList "\n---\n" ($root.Files.Get "files/rbac.yaml") }}
{{- $object := fromYaml . }}
{{- if and (eq $object.kind $kind) (eq $object.metadata.name $name) }}{{ toYaml $object.rules }}{{ end }}
{{- end }}
{{- end }}

{{- define "paceline.watchNamespace" -}}
{{ .Values.watchNamespace | default .Release.Namespace }}
{{- end }}

{{/* What the strictest Pod Security Standard asks of a pod and of a container. */}}
{{- define "paceline.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "paceline.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* Which jobs are looked after. */}}
{{- define "paceline.scope" -}}
{{- if eq .Values.scope "cluster" -}}
- --all-namespaces
{{- else -}}
- --namespace
- {{ include "paceline.watchNamespace" . }}
{{- end }}
{{- end }}
