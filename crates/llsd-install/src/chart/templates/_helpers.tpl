{{/* The operator's image, which the sidecar of a server runs too. */}}
{{- define "llsd.image" -}}
{{- $image := .Values.image -}}
{{- $tag := $image.tag | default .Chart.AppVersion -}}
{{- $name := printf "%s/%s" $image.registry $image.repository | trimPrefix "/" -}}
{{- if $image.digest -}}{{ $name }}@{{ $image.digest }}{{- else -}}{{ $name }}:{{ $tag }}{{- end -}}
{{- end -}}

{{/* Whether webhooks are served: an operator of some namespaces cannot say whom to trust. */}}
{{- define "llsd.webhooks" -}}
{{- if and (not .Values.namespaced) (or (not .Values.watchNamespaces) (ne .Values.certificates "operator")) -}}
true
{{- end -}}
{{- end -}}

{{/* Whether figures are only for those who may read them: to ask takes rights of the cluster. */}}
{{- define "llsd.metricsAuthentication" -}}
{{- if and .Values.metricsAuthentication (not .Values.namespaced) -}}true{{- end -}}
{{- end -}}

{{/* Whether the operator makes the certificates of its webhooks. */}}
{{- define "llsd.ownCertificates" -}}
{{- if and (include "llsd.webhooks" .) (eq .Values.certificates "operator") -}}true{{- end -}}
{{- end -}}
