#!/bin/sh
# writes the stores again, by the JDK's keytool and openssl. Every password is changeit; README.md says what each is.
set -eu
cd "$(dirname "$0")"
rm -f ./*.pem ./*.jks ./*.p12 ./*.jceks
days=36500 pass=changeit
subject() { printf '/O=bulkload test/CN=%s' "$1"; }
openssl ecparam -name prime256v1 -genkey -noout -out ca.sec1
openssl pkcs8 -topk8 -nocrypt -in ca.sec1 -out ca-key.pem
openssl req -x509 -new -key ca-key.pem -subj "$(subject authority)" -days $days -out ca.pem
openssl ecparam -name prime256v1 -genkey -noout -out client.sec1
openssl req -new -key client.sec1 -subj "$(subject client)" -out client.csr
printf 'extendedKeyUsage=clientAuth\n' > client.ext
openssl x509 -req -in client.csr -CA ca.pem -CAkey ca-key.pem -days $days -extfile client.ext -out client.crt 2>/dev/null
openssl pkcs8 -topk8 -nocrypt -in client.sec1 -out client.key
cat client.key client.crt ca.pem > client.pem
{ openssl pkcs8 -topk8 -in client.sec1 -passout pass:$pass -v2 aes-256-cbc; cat client.crt ca.pem; } > client-encrypted.pem
{ openssl pkcs8 -topk8 -in client.sec1 -passout pass:$pass -scrypt; cat client.crt ca.pem; } > client-scrypt.pem
{ openssl ec -in client.sec1 -aes128 -passout pass:$pass 2>/dev/null; cat client.crt; } > client-old.pem
{ cat client.sec1 client.crt ca.pem; } > client-sec1.pem
openssl pkcs12 -export -inkey client.key -in client.crt -certfile ca.pem -passout pass:$pass -name client -out client-openssl.p12
openssl pkcs12 -export -inkey client.key -in client.crt -certfile ca.pem -passout pass:$pass -name client -certpbe PBE-SHA1-3DES -keypbe PBE-SHA1-3DES -macalg sha1 -out client-3des.p12
openssl pkcs12 -export -nokeys -in ca.pem -passout pass:$pass -out unmarked.p12
keytool -importcert -noprompt -alias authority -file ca.pem -storetype JKS -keystore trust.jks -storepass $pass 2>/dev/null
keytool -importcert -noprompt -alias authority -file ca.pem -storetype PKCS12 -keystore trust.p12 -storepass $pass 2>/dev/null
keytool -importcert -noprompt -alias authority -file ca.pem -keystore default.jks -storepass $pass 2>/dev/null
keytool -importcert -noprompt -alias authority -file ca.pem -storetype JCEKS -keystore trust.jceks -storepass $pass 2>/dev/null
keytool -J-Dkeystore.pkcs12.legacy -importcert -noprompt -alias authority -file ca.pem -storetype PKCS12 -keystore trust-legacy.p12 -storepass $pass 2>/dev/null
for form in JKS:jks PKCS12:p12; do
  keytool -importkeystore -srckeystore client-openssl.p12 -srcstoretype PKCS12 -srcstorepass $pass -deststoretype "${form%:*}" -destkeystore "client.${form#*:}" -deststorepass $pass 2>/dev/null
done
cp client.p12 mixed.p12
keytool -importcert -noprompt -alias authority -file ca.pem -storetype PKCS12 -keystore mixed.p12 -storepass $pass 2>/dev/null
cp client.jks mixed.jks
keytool -importcert -noprompt -alias authority -file ca.pem -storetype JKS -keystore mixed.jks -storepass $pass 2>/dev/null
cp client.jks otherpass.jks
keytool -keypasswd -alias client -storetype JKS -keystore otherpass.jks -storepass $pass -keypass $pass -new different 2>/dev/null
rm -f ./*.sec1 ./*.csr ./*.ext ./*.crt ./*.key
