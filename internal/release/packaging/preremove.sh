#!/bin/sh
# Before removal, not before an upgrade: "remove" is deb's word for it, 0 rpm's.
set -e
case "$1" in
remove | 0)
  if [ -d /run/systemd/system ]; then
    systemctl disable --now bulkload-serve.socket bulkload-serve.service
    systemctl stop 'bulkload@*.timer'
    # disable takes no pattern: each timer that is enabled by its name.
    for link in /etc/systemd/system/*.wants/bulkload@*.timer; do
      if [ -L "$link" ]; then systemctl disable "$(basename "$link")"; fi
    done
  fi
  ;;
esac
