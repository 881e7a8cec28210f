// Package release makes what a release consists of, from a checkout, without a container engine and without packaging tools:
//
//	bulkload-VERSION-OS-ARCH.tar.gz      the program, documents, examples, completions, man pages
//	bulkload_VERSION_ARCH.deb, .rpm      the same for Linux, with systemd units and a system user
//	bulkload-VERSION-linux-ARCH.oci.tar  an image that holds the program and the certificates of public authorities
//	bulkload-VERSION-py3-none-PLATFORM.whl  the Python package with the program in it; other packages below python without one
//	bulkload-VERSION.tgz                 the Helm chart, for the image of this version
//	bulkload-VERSION.spdx.json           the bill of materials, in SPDX
//	CHANGES-VERSION.md                   what the changelog has about the version
//	SHA256SUMS
//
// The same commit gives the same files, byte for byte, wherever the same Go is: files are those that git knows, in order, without an owner, and of the
// commit's time. [Make] is the only entry.
package release
