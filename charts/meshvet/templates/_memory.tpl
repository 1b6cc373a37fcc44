{{/*
GOMEMLIMIT: three quarters of the memory limit. The downward API can only hand over the whole limit, at which the kernel has
already ended the process.
*/}}
{{- define "meshvet.goMemLimit" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources -}}
{{- if .Values.goMemLimit -}}
{{- .Values.goMemLimit -}}
{{- else if $limit -}}
{{- if not (kindIs "string" $limit) -}}
{{- $limit = $limit | int64 | toString -}}
{{- end -}}
{{- $number := regexFind "^[0-9]+(\\.[0-9]+)?" $limit -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000
  "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $bytes := mulf ($number | float64) (get $units (trimPrefix $number $limit)) 0.75 -}}
{{- printf "%dMiB" (divf $bytes 1048576 | floor | int64) -}}
{{- end -}}
{{- end -}}
