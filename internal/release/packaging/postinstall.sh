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
# Job files may name accounts: the user of the service reads them, and root alone writes them. At an upgrade dpkg leaves modes and groups as the
# administrator has set them; rpm resets those of the package's own files, not of their directory.
own() {
  [ ! -e "$2" ] || { chgrp bulkload "$2" && chmod "$1" "$2"; }
}
case "$1:$2" in
configure: | 1:) own 0750 /etc/bulkload ;;
esac
case "$1:$2" in
configure: | [1-9]:)
  own 0750 /etc/bulkload/jobs
  own 0640 /etc/bulkload/environment
  ;;
esac
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # A job that is running finishes with the program it was started with. The reader service changes to the new one: its socket stays open.
  systemctl try-restart bulkload-serve.service || true # systemctl says why it does not start
fi
