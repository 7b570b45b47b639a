# keepalived of Debian, for the profile interop of docker-compose.yml, with the service that answers the lab's client.
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}
RUN apt-get update -q && apt-get install -y -q --no-install-recommends keepalived && rm -rf /var/lib/apt/lists/*
COPY native/prebuilds /opt/holdfast/native/prebuilds
CMD ["/bin/sh", "-c", "set -- /opt/holdfast/native/prebuilds/linux-*/holdfast-probe && { \"$1\" respond \"$HOSTNAME\" 7007 & } && exec keepalived --vrrp --dont-fork --log-console --log-detail"]
