{{- define "gateway.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Headless service, which gives each pod its name. */}}
{{- define "gateway.nodes" -}}
{{- include "gateway.name" . -}}-nodes
{{- end -}}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "gateway.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Node file without the operator's own keys. POD_NAME is expanded by the gateway. */}}
{{- define "gateway.node" -}}
listen: ":8484"
metrics_listen: ":9464"
{{- if .Values.deployment }}
deployment: deployment.yaml
{{- end }}
secrets_dir: /etc/gateway-secrets
cluster:
  node_id: ${POD_NAME}
  data_dir: /var/lib/gateway
  secret: ${secret:CLUSTER_SECRET}
  raft_addr: ":7000"
  forward_addr: ":7001"
  advertise: "${POD_NAME}.{{ include "gateway.nodes" . }}:7000"
  forward_advertise: "${POD_NAME}.{{ include "gateway.nodes" . }}:7001"
  join:
    {{- range until 3 }}
    - "{{ include "gateway.name" $ }}-{{ . }}.{{ include "gateway.nodes" $ }}:7001"
    {{- end }}
  bootstrap: true
  {{- if .Values.cluster.deadAfter }}
  dead_after: {{ .Values.cluster.deadAfter }}
  {{- end }}
admin:
  local_socket: /run/gateway/admin.sock
{{- end -}}
