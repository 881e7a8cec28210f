{{/* The arguments of a load, as a list in YAML: root, name, job, input, more. */}}
{{- define "bulkload.run" -}}
- run
- --output=json
- --quiet
- --job=/etc/bulkload/{{ .job }}.yaml
- {{ printf "--input=%s" (required (printf "the input of %s" .job) .input) | quote }}
{{- with .root.Values.timeZone }}
- --time-zone={{ . }}
{{- end }}
- --state={{ .root.Values.state }}
- --spill-dir=/spill
{{- if (.root.Values.rejects | default dict).claim }}
- {{ printf "--reject-file=/rejects/%s-%s-{{ .Date }}.jsonl" .root.Release.Name .name | quote }}
{{- else }}
- {{ "--reject-file=/spill/rejects-{{ .Date }}.jsonl" | quote }}
{{- end }}
- --memory={{ .root.Values.memory }}
{{- range .more }}
- {{ . | quote }}
{{- end }}
{{- end }}
