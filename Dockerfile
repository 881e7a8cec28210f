# syntax=docker/dockerfile:1
# A static program and nothing else: no shell, no libc, no users.
#   docker build --build-arg VERSION=1.0.0 -t bulkload:1.0.0 .
#   docker run --rm -v /etc/hadoop/conf:/etc/hadoop/conf:ro -e HADOOP_USER_NAME=tina \
#     -v bulkload-state:/var/lib/bulkload bulkload:1.0.0 check
ARG GO_VERSION=1.26
FROM golang:${GO_VERSION} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/usr/local/bin/bulkload ./cmd/bulkload
# Nobody can make directories in the image later.
RUN install -d -o 65532 -g 65532 -m 0700 /out/var/lib/bulkload && install -d -m 1777 /out/tmp

FROM scratch
COPY --from=build /out /
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
ENV HADOOP_CONF_DIR=/etc/hadoop/conf \
    HBASE_CONF_DIR=/etc/hadoop/conf \
    BULKLOAD_STATE=/var/lib/bulkload
USER 65532:65532
VOLUME ["/var/lib/bulkload"]
ENTRYPOINT ["/usr/local/bin/bulkload"]
CMD ["--help"]
