#!/bin/sh
# After installation and after an upgrade, for deb and rpm: the system user, its directories, and what systemd knows.
set -e
if ! getent group bulkload >/dev/null || ! getent passwd bulkload >/dev/null; then
  if command -v systemd-sysusers >/dev/null 2>&1; then
    systemd-sysusers /usr/lib/sysusers.d/bulkload.conf
  else
    getent group bulkload >/dev/null || groupadd --system bulkload
    useradd --system --gid bulkload --home-dir /var/lib/bulkload --no-create-home --shell /usr/sbin/nologin bulkload
  fi
fi
# Journals and spilled rows hold values of rows.
for dir in /var/lib/bulkload /var/cache/bulkload; do
  [ -d "$dir" ] || install -d -m 0700 -o bulkload -g bulkload "$dir"
done
# Job files may name accounts: the user of the service reads them, and root alone writes them.
chgrp bulkload /etc/bulkload /etc/bulkload/jobs /etc/bulkload/environment
chmod 0750 /etc/bulkload /etc/bulkload/jobs
chmod 0640 /etc/bulkload/environment
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # A job that is running finishes with the program it was started with. The reader service changes to the new one: its socket stays open.
  systemctl try-restart bulkload-serve.service
fi
