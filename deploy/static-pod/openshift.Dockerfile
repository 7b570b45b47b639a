# The image for the pods of OpenShift: holdfast's own, the curl with which keepalived's checks of those nodes ask (docs/static-pod.md),
# and the HAProxy of the pod haproxy (docs/load-balancer.md).
#   docker build --file deploy/static-pod/openshift.Dockerfile --build-arg HOLDFAST=holdfast:dev --tag holdfast-openshift:dev deploy/static-pod
ARG HOLDFAST=holdfast:dev
FROM ${HOLDFAST}
USER 0
RUN apt-get update -q \
 && apt-get install -y -q --no-install-recommends curl haproxy \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log
USER 990:990
