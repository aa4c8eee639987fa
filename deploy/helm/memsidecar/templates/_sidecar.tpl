{{/*
What another chart includes. With this chart as a dependency and `memsidecar.agent.enabled: false`, each is called with the
dependency's own context:

    {{- include "memsidecar.initContainer" .Subcharts.memsidecar | nindent 8 }}
*/}}

{{/* One entry of the pod's initContainers: a native sidecar, started before the agent, stopped after it. */}}
{{- define "memsidecar.initContainer" -}}
- name: memsidecar
  image: {{ include "memsidecar.image" . }}
  {{- with .Values.image.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  restartPolicy: Always
  args: ["serve"]
  env:
    - name: MEMSIDECAR_LOG_FORMAT
      value: json
    {{- with .Values.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  envFrom:
    - configMapRef:
        name: {{ include "memsidecar.configMap" . }}
        optional: true
  ports:
    - name: memsidecar-hc
      containerPort: 50552
    {{- if .Values.metrics.enabled }}
    - name: memsidecar-prom
      containerPort: {{ .Values.metrics.port }}
    {{- end }}
  # Readiness asks memsidecar's own stores only: a slow model provider must not make the pod unready.
  startupProbe:
    grpc: {port: 50552, service: startup}
    periodSeconds: 1
    failureThreshold: 120
  readinessProbe:
    grpc: {port: 50552, service: readiness}
    periodSeconds: 5
  livenessProbe:
    grpc: {port: 50552, service: liveness}
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 6
  resources:
    {{- toYaml .Values.resources | nindent 4 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: ["ALL"]}
    seccompProfile: {type: RuntimeDefault}
  volumeMounts:
    - {name: memsidecar-socket, mountPath: /run/memsidecar}
    - {name: memsidecar-data, mountPath: /var/lib/memsidecar}
    - {name: memsidecar-tmp, mountPath: /tmp}
    - {name: memsidecar-secrets, mountPath: /etc/memsidecar/secrets, readOnly: true}
{{- end }}

{{/* Entries of the pod's volumes. The data is among them unless it is claimed. */}}
{{- define "memsidecar.volumes" -}}
- name: memsidecar-socket
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: memsidecar-tmp
  emptyDir: {sizeLimit: 64Mi}
- name: memsidecar-secrets
  secret: {secretName: {{ .Values.secret.name }}, optional: true, defaultMode: 0440}
{{- if not .Values.persistence.enabled }}
- name: memsidecar-data
  emptyDir: {sizeLimit: {{ .Values.ephemeral.sizeLimit }}}
{{- end }}
{{- end }}

{{/* One entry of a StatefulSet's volumeClaimTemplates; nothing without persistence. */}}
{{- define "memsidecar.volumeClaimTemplate" -}}
{{- if .Values.persistence.enabled -}}
- metadata:
    name: memsidecar-data
  spec:
    # One writer a data directory: the volume itself refuses a second pod.
    accessModes: ["ReadWriteOncePod"]
    {{- with .Values.persistence.storageClass }}
    storageClassName: {{ . }}
    {{- end }}
    resources:
      requests: {storage: {{ .Values.persistence.size }}}
{{- end }}
{{- end }}

{{/* Fields of the pod's securityContext: the volumes belong to the group that agent and sidecar share. */}}
{{- define "memsidecar.podSecurityContext" -}}
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
{{- end }}

{{/* The agent's volumeMounts and env entries: where the socket is. */}}
{{- define "memsidecar.agentVolumeMount" -}}
- {name: memsidecar-socket, mountPath: /run/memsidecar}
{{- end }}
{{- define "memsidecar.agentEnv" -}}
- {name: MEMSIDECAR_TARGET, value: "unix:/run/memsidecar/memsidecar.sock"}
{{- end }}

{{/* What a pod's label and a NetworkPolicy's selector agree on. */}}
{{- define "memsidecar.podLabels" -}}
memsidecar.dev/sidecar: "true"
{{- end }}

{{- define "memsidecar.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* Called for the release, so that two of them in one namespace have their own settings. */}}
{{- define "memsidecar.configMap" -}}
{{ printf "%s-memsidecar" .Release.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The settings, as the ConfigMap's data. */}}
{{- define "memsidecar.settings" -}}
{{- $settings := deepCopy .Values.config }}
{{- with .Values.redis.url }}
{{- $_ := set $settings "MEMSIDECAR_REDIS_URL" . }}
{{- end }}
{{- with .Values.redis.passwordKey }}
{{- $_ := set $settings "MEMSIDECAR_REDIS_PASSWORD_FILE" (printf "/etc/memsidecar/secrets/%s" .) }}
{{- end }}
{{- if not .Values.metrics.enabled }}
{{- $_ := set $settings "MEMSIDECAR_METRICS_PORT" 0 }}
{{- else if ne (int .Values.metrics.port) 9551 }}
{{- $_ := set $settings "MEMSIDECAR_METRICS_PORT" .Values.metrics.port }}
{{- end }}
{{- range $name, $value := $settings }}
{{ $name }}: {{ toString $value | quote }}
{{- end }}
{{- end }}
