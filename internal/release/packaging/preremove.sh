#!/bin/sh
# Before removal, not before an upgrade: "remove" is deb's word for it, 0 rpm's.
set -e
case "$1" in
remove | 0)
  if [ -d /run/systemd/system ]; then
    systemctl disable --now bulkload-serve.socket bulkload-serve.service
    systemctl disable --now 'bulkload@*.timer'
  fi
  ;;
esac
