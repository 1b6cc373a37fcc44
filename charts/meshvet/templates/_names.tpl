{{/* What objects are called and labelled. */}}

{{- define "meshvet.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Cut so that the longest suffix (-selfsigned, -tls-rotate, …) still fits into 63 characters. */}}
{{- define "meshvet.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 45 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 45 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The stable part of the labels: what selectors name may never change. */}}
{{- define "meshvet.selectorLabels" -}}
app.kubernetes.io/name: {{ include "meshvet.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: webhook
{{- end -}}

{{/* Labels of every object. Those of the user cannot replace ours, which selectors and Helm rely on. */}}
{{- define "meshvet.labels" -}}
{{- $ours := include "meshvet.selectorLabels" . | fromYaml -}}
{{- $ours = merge $ours (dict
  "app.kubernetes.io/version" (.Chart.AppVersion | toString)
  "app.kubernetes.io/part-of" "meshvet"
  "app.kubernetes.io/managed-by" .Release.Service
  "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")) -}}
{{- merge $ours .Values.commonLabels | toYaml -}}
{{- end -}}

{{/* Labels of Pods. Without those that change with the chart and nothing else, for which Pods need not be replaced. */}}
{{- define "meshvet.podLabels" -}}
{{- $outside := dict "sidecar.istio.io/inject" "false" "istio.io/dataplane-mode" "none" -}}
{{- $ours := merge (include "meshvet.selectorLabels" . | fromYaml) (dict
  "app.kubernetes.io/version" (.Chart.AppVersion | toString)
  "app.kubernetes.io/part-of" "meshvet") -}}
{{- merge $ours .Values.podLabels .Values.commonLabels $outside | toYaml -}}
{{- end -}}

{{- define "meshvet.serviceAccountName" -}}
{{- default (include "meshvet.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "meshvet.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Istio's root namespace, which the configuration may name. */}}
{{- define "meshvet.rootNamespace" -}}
{{- dig "istio" "rootNamespace" "istio-system" .Values.config -}}
{{- end -}}

{{- define "meshvet.exemptionLabel" -}}
admission.meshvet.dev/ignore
{{- end -}}

{{/* Namespaces that are never reviewed, as JSON: what would be needed to repair meshvet and the cluster must not depend on meshvet. */}}
{{- define "meshvet.neverReviewed" -}}
{{- list .Release.Namespace "kube-system" | uniq | toJson -}}
{{- end -}}
