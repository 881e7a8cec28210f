// Package release builds the files of a release from a checkout, without a container engine and without packaging tools:
//
//	bulkload-VERSION-OS-ARCH.tar.gz      the program, documents, examples, completions, man pages
//	bulkload_VERSION_ARCH.deb, .rpm      the same for Linux, with systemd units and a system user
//	bulkload-VERSION-linux-ARCH.oci.tar  an image with the program and the certificates of public authorities
//	bulkload-VERSION-py3-none-PLATFORM.whl  the Python package with the program in it; other packages below python without one
//	bulkload-VERSION.tgz                 the Helm chart, for the image of this version
//	bulkload-VERSION.spdx.json           the bill of materials, in SPDX
//	CHANGES-VERSION.md                   the changelog's section about the version
//	SHA256SUMS
//
// The same commit and the same Go version produce the same files, byte for byte, on any host: a release has only files that git tracks, in order,
// without an owner, and with the commit's time. [Make] is the only entry point.
package release
