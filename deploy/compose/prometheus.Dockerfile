# A stand-in for prom/prometheus where no registry answers: Debian's Prometheus behind the official image's paths. `make lab`
# builds it there and says so.
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}
RUN apt-get update -q && apt-get install -y -q --no-install-recommends prometheus \
 && rm -rf /var/lib/apt/lists/* /usr/share/javascript && install -d -o nobody -g nogroup /prometheus
USER nobody
EXPOSE 9090
ENTRYPOINT ["prometheus", "--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
LABEL holdfast.stand-in="Debian's Prometheus in place of prom/prometheus"
