{{- define "egress.protocol" -}}
{{ if .tls }}HTTP{{ else }}TLS{{ end }}
{{- end }}

{{/* What is set for all ports of a service. */}}
{{- define "egress.policy" -}}
connectionPool:
  tcp:
    connectTimeout: {{ .Values.connectTimeout }}
    maxConnections: {{ .Values.maxConnections }}
outlierDetection:
  consecutiveLocalOriginFailures: 5
  splitExternalLocalOriginErrors: true
  maxEjectionPercent: 50
{{- end }}
