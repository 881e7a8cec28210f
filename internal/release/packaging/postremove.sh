#!/bin/sh
# After removal. The journals in /var/lib/bulkload say which jobs are complete, so they stay; they are for the administrator to remove.
set -e
case "$1" in
remove | purge | 0)
  rm -rf /var/cache/bulkload
  rmdir /var/lib/bulkload 2>/dev/null || true
  if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
  ;;
esac
