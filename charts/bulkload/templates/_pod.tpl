{{- define "bulkload.labels" -}}
app.kubernetes.io/name: bulkload
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "bulkload.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "bulkload.hadoop" -}}
{{ .Values.hadoop.configMap | default (printf "%s-hadoop" .Release.Name) }}
{{- end }}

{{/* MiB of a size such as 1GiB or 512MiB, and as many more. */}}
{{- define "bulkload.mebibytes" -}}
{{- $size := index . 0 -}}
{{- if hasSuffix "GiB" $size }}{{ add (mul (trimSuffix "GiB" $size | int) 1024) (index . 1) }}Mi
{{- else if hasSuffix "MiB" $size }}{{ add (trimSuffix "MiB" $size | int) (index . 1) }}Mi
{{- else }}{{ fail (printf "memory %s: write it in GiB or MiB, such as 1GiB" $size) }}
{{- end }}
{{- end }}

{{- define "bulkload.environment" -}}
- name: HADOOP_CONF_DIR
  value: /etc/hadoop/conf
- name: HBASE_CONF_DIR
  value: /etc/hadoop/conf
{{- with .Values.hadoop.user }}
- name: HADOOP_USER_NAME
  value: {{ . | quote }}
{{- end }}
{{- with .Values.kerberos }}
{{- if .principal }}
- name: BULKLOAD_PRINCIPAL
  value: {{ .principal | quote }}
- name: BULKLOAD_KEYTAB
  value: /etc/bulkload-keytab/keytab
- name: KRB5_CONFIG
  value: /etc/bulkload-krb5/krb5.conf
{{- end }}
{{- end }}
{{- end }}

{{- define "bulkload.mounts" -}}
- name: hadoop
  mountPath: /etc/hadoop/conf
  readOnly: true
{{- if .Values.kerberos.principal }}
- name: keytab
  mountPath: /etc/bulkload-keytab
  readOnly: true
- name: krb5
  mountPath: /etc/bulkload-krb5
  readOnly: true
{{- end }}
{{- end }}

{{- define "bulkload.volumes" -}}
- name: hadoop
  configMap:
    name: {{ include "bulkload.hadoop" . }}
- name: jobs
  configMap:
    name: {{ .Release.Name }}-jobs
{{- if .Values.kerberos.principal }}
- name: keytab
  secret:
    secretName: {{ required "kerberos.keytabSecret: the secret with the keytab" .Values.kerberos.keytabSecret }}
    defaultMode: 0440 # the group is fsGroup; others can read nothing
- name: krb5
  configMap:
    name: {{ required "kerberos.krb5ConfigMap: the config map with krb5.conf" .Values.kerberos.krb5ConfigMap }}
{{- end }}
{{- end }}

{{- define "bulkload.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532 # writes on the volumes, reads the secrets
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "bulkload.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* The spec of a Job: root is the chart's context, args the command, job the name of the job file, shared whether the volume of parts is mounted,
rejects the claim for records that are set aside, if any. */}}
{{- define "bulkload.job" -}}
{{- $root := .root -}}
{{- with $root -}}
completions: {{ $.count | default 1 }}
parallelism: {{ $.count | default 1 }}
{{- if $.count }}
completionMode: Indexed
{{- end }}
backoffLimit: {{ .Values.tries }} # tries after failures that a retry may fix, 10 s apart and then ever longer
activeDeadlineSeconds: {{ .Values.deadline }}
ttlSecondsAfterFinished: {{ .Values.keepFinished }}
podReplacementPolicy: Failed # no second pod while the first still has the lock
podFailurePolicy:
  rules:
    # Usage, an unfit table, bad rows, input missing or changed, verification: another try ends the same way.
    - action: FailJob
      onExitCodes:
        containerName: bulkload
        operator: In
        values: [2, 3, 4, 5, 8]
    # A pod that was lost with a drained or preempted node does not count as a failure: the next pod resumes the job.
    - action: Ignore
      onPodConditions:
        - type: DisruptionTarget
          status: "True"
template:
  metadata:
    labels:
      {{- include "bulkload.labels" . | nindent 6 }}
      app.kubernetes.io/component: load
  spec:
    restartPolicy: Never # what podFailurePolicy needs
    terminationGracePeriodSeconds: 30 # the program stops within 15 s
    {{- include "bulkload.podSecurity" . | nindent 4 }}
    containers:
      - name: bulkload
        image: {{ include "bulkload.image" . }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        args:
          {{- range $.args }}
          - {{ . | quote }}
          {{- end }}
        env:
          {{- include "bulkload.environment" . | nindent 10 }}
          - name: XDG_CACHE_HOME # for a copy of the state; the root file system is read-only
            value: /spill/cache
          {{- if $.count }}
          - name: SHARE # from 0, so it is share $(SHARE)+1
            valueFrom:
              fieldRef:
                fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']
          {{- end }}
        resources:
          requests:
            cpu: {{ .Values.cpu | quote }}
            memory: {{ include "bulkload.mebibytes" (list .Values.memory 256) }}
            ephemeral-storage: 1Gi
          limits:
            memory: {{ include "bulkload.mebibytes" (list .Values.memory 256) }}
            ephemeral-storage: {{ .Values.storage }}
        {{- include "bulkload.containerSecurity" . | nindent 8 }}
        volumeMounts:
          {{- include "bulkload.mounts" . | nindent 10 }}
          - name: jobs
            mountPath: /etc/bulkload
            readOnly: true
          - name: spill
            mountPath: /spill
          {{- if $.shared }}
          - name: shared
            mountPath: /shared
          {{- end }}
          {{- if $.rejects }}
          - name: rejects
            mountPath: /rejects
          {{- end }}
    volumes:
      {{- include "bulkload.volumes" . | nindent 6 }}
      - name: spill
        emptyDir:
          sizeLimit: {{ .Values.spill }}
      {{- if $.shared }}
      - name: shared
        persistentVolumeClaim:
          claimName: {{ .Values.parts.claim }}
      {{- end }}
      {{- with $.rejects }}
      - name: rejects
        persistentVolumeClaim:
          claimName: {{ . }}
      {{- end }}
{{- end }}
{{- end }}
