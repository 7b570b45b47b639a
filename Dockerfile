# The image: docs/install.md. Builds with the legacy builder and with BuildKit, so no `# syntax=` and no RUN --mount. Decided
# here: the content of the image (no compiler, no npm). Its own Node makes its code cache (docs/adr/0038). Another user than root
# gets its capabilities from the guardian's file (docs/privileges.md).
# NODE_IMAGE only builds; the Node that is shipped is that of scripts/pinned-node.sh. Both names are read by scripts/base-images.sh, too.
ARG NODE_IMAGE=node:24-bookworm-slim
ARG BASE_IMAGE=debian:bookworm-slim

# A list of its packages for the bill of materials.
FROM ${BASE_IMAGE} AS base
RUN dpkg-query --show --showformat='${Package} ${Version} ${Architecture} ${source:Package}\n' >/opt/packages

FROM base AS tools
RUN apt-get update -q && apt-get install -y -q --no-install-recommends binutils libcap2-bin

FROM ${NODE_IMAGE} AS build
WORKDIR /build
# Not `npm ci`: docs/adr/0005. Nothing is compiled; the two optional packages that would be are not in the image.
COPY package.json package-lock.json .npmrc ./
RUN npm install --ignore-scripts --no-audit --no-fund --loglevel=error
COPY tsconfig.json tsconfig.build.json LICENSE ./
COPY bin bin
COPY scripts scripts
COPY native native
COPY src src
COPY --from=base /opt/packages /opt/packages
ARG REVISION=
# Of the commit, in seconds: the bill of materials has it.
ARG SOURCE_DATE_EPOCH=0
RUN npm run --silent build \
 && npm sbom --sbom-format=cyclonedx --sbom-type=application --package-lock-only \
  | node scripts/bill-of-materials.mjs dist --debian /opt/packages \
 && mkdir -p /image/dist /image/native /image/node_modules /image/runtime \
 && cp -R bin package.json LICENSE /image/ \
 && node scripts/shipped-manifest.mjs /image "$REVISION" \
 && cp -R dist/bundle dist/licences.txt dist/sbom.cdx.json /image/dist/ \
 && cp -R native/prebuilds /image/native/ \
 && cp -R node_modules/node-gyp-build /image/node_modules/ \
 && scripts/pinned-node.sh /image/runtime \
 && rm -rf /image/dist/bundle/v[0-9]* \
 && /image/runtime/node /image/dist/bundle/warm-up.js

# Without its symbols Node is 33 MB smaller and otherwise the same.
FROM tools AS stripped
COPY --from=build /image /image
RUN strip /image/runtime/node && rm -f /image/native/prebuilds/SOURCES.sha256

FROM base AS runtime
ARG VERSION=0.2.0
ARG REVISION=
ARG CREATED=
ARG BASE_IMAGE
LABEL org.opencontainers.image.title="holdfast" \
      org.opencontainers.image.description="Keeps virtual IP addresses on exactly one healthy node of a LAN: VRRPv3 (RFC 9568) in userspace" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}"
COPY --from=stripped /image /opt/holdfast
# Files for `holdfast operator --place-operands`.
COPY deploy/dns/Corefile.tmpl deploy/dns/openshift-coredns.yaml /opt/holdfast/deploy/dns/
COPY deploy/haproxy/haproxy.cfg.tmpl /opt/holdfast/deploy/haproxy/
COPY deploy/static-pod/openshift-haproxy.yaml /opt/holdfast/deploy/static-pod/
COPY --from=tools /sbin/setcap /sbin/setcap
# The legacy builder loses file capabilities in COPY. No `e`: with it the kernel would refuse to start a guardian that was
# not granted all of them, with an unclear message; this way the daemon names what is missing. A tmpfs on /run
# gets the mode that /run has here, and the daemon its folders in it.
RUN setcap cap_net_admin,cap_net_raw,cap_sys_nice+p /opt/holdfast/native/prebuilds/linux-*/holdfast-guardian \
 && rm /sbin/setcap /opt/packages \
 && groupadd --system --gid 990 holdfast \
 && useradd --system --uid 990 --gid holdfast --no-create-home --home-dir /run/holdfast --shell /usr/sbin/nologin holdfast \
 && install -d -m 755 -o holdfast -g holdfast /run/holdfast /run/keepalived \
 && chmod 1777 /run \
 && install -d -m 755 /etc/holdfast \
 && ln -s /opt/holdfast/bin/holdfast /opt/holdfast/bin/holdfast-healthcheck /opt/holdfast/bin/holdfast-haproxy /usr/local/bin/ \
 && ln -s /opt/holdfast/bin/holdfast /usr/sbin/keepalived \
 && ln -s /opt/holdfast/bin/holdfast /usr/local/bin/dynkeepalived \
 && ln -s /opt/holdfast/bin/holdfast /usr/local/bin/runtimecfg \
 && ln -s /opt/holdfast/bin/holdfast /usr/local/bin/monitor
# As a number: Kubernetes' runAsNonRoot asks for one.
USER 990:990
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 CMD ["/usr/local/bin/holdfast-healthcheck"]
ENTRYPOINT ["/usr/local/bin/holdfast"]
CMD ["run"]
