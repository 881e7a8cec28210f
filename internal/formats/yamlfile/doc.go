// Package yamlfile reads the YAML files that users write: job files, configuration files and clients files. A text stays as it is written, although YAML
// has numbers and booleans that look like it: 007 stays 007, 1.50 stays 1.50 and TRUE stays TRUE. Integers are decimal, as those of flags are, and are
// never rounded. A file has one document, and no fields that its reader does not know.
package yamlfile
