#!/bin/sh
# Makes the certificates and kubeconfigs of a cluster: `scripts/cluster/certificates.sh FOLDER VIP NAME=ADDRESS...`. A
# single authority signs all certificates. The first three names of the arguments are control plane nodes, whose
# kubelets use the API server of their node, as kubeadm decides it. All others use the virtual address.
set -eu

folder=$1
vip=$2
shift 2
cd "$folder"

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key" 2>/dev/null; }
# sign NAME SUBJECT EXTENSIONS: makes NAME.key and NAME.crt.
sign() {
  key "$1"
  openssl req -new -key "$1.key" -subj "$2" -out "$1.csr" 2>/dev/null
  printf 'keyUsage=digitalSignature\nextendedKeyUsage=clientAuth,serverAuth\n%s\n' "${3-}" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAserial ca.srl -CAcreateserial -days 30 -extfile "$1.ext" \
    -out "$1.crt" 2>/dev/null
  rm "$1.csr" "$1.ext"
}
# kubeconfig NAME SERVER: writes NAME.conf with the certificate NAME.
kubeconfig() {
  cat >"$1.conf" <<END
apiVersion: v1
kind: Config
current-context: $1
contexts: [{ name: $1, context: { cluster: cluster, user: $1 } }]
clusters:
  - name: cluster
    cluster: { server: "$2", certificate-authority-data: $(base64 -w0 ca.crt) }
users:
  - name: $1
    user: { client-certificate-data: $(base64 -w0 "$1.crt"), client-key-data: $(base64 -w0 "$1.key") }
END
}

key ca
openssl req -x509 -new -key ca.key -subj /CN=cluster -days 30 -out ca.crt 2>/dev/null
key service-accounts
openssl ec -in service-accounts.key -pubout -out service-accounts.pub 2>/dev/null
names="subjectAltName=IP:127.0.0.1,IP:10.96.0.1,IP:$vip,DNS:localhost,DNS:kubernetes.default.svc"
for node in "$@"; do names="$names,IP:${node#*=}"; done
sign api-server /CN=kube-apiserver "$names"
sign admin /O=system:masters/CN=admin
sign controller-manager /CN=system:kube-controller-manager
sign scheduler /CN=system:kube-scheduler
kubeconfig admin "https://$vip:6443"
kubeconfig controller-manager https://127.0.0.1:6443
kubeconfig scheduler https://127.0.0.1:6443
position=0
for node in "$@"; do
  position=$((position + 1))
  sign "${node%%=*}" "/O=system:nodes/CN=system:node:${node%%=*}"
  [ "$position" -le 3 ] && server=127.0.0.1 || server=$vip
  kubeconfig "${node%%=*}" "https://$server:6443"
done
