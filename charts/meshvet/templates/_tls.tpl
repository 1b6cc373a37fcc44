{{/* Where certificates come from, and what is called by the mode. */}}

{{- define "meshvet.tlsMode" -}}
{{- if ne .Values.tls.mode "auto" -}}
{{- .Values.tls.mode -}}
{{- else if or .Values.tls.certManager.issuerRef (.Capabilities.APIVersions.Has "cert-manager.io/v1") -}}
certManager
{{- else -}}
rotate
{{- end -}}
{{- end -}}

{{/*
The Secret with the serving certificate. Each mode has one of its own, since they differ in type, and so that a change of the mode
does not let two of them write the same Secret for a while.
*/}}
{{- define "meshvet.tlsSecret" -}}
{{- $mode := include "meshvet.tlsMode" . -}}
{{- if eq $mode "provided" -}}
{{- .Values.tls.provided.secretName -}}
{{- else if eq $mode "certManager" -}}
{{- include "meshvet.fullname" . }}-tls
{{- else -}}
{{- include "meshvet.fullname" . }}-tls-rotate
{{- end -}}
{{- end -}}

{{/* The name by which the API server calls the Service, which the certificate has to be for. */}}
{{- define "meshvet.serverName" -}}
{{- printf "%s.%s.svc" (include "meshvet.fullname" .) .Release.Namespace -}}
{{- end -}}
