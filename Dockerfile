# A static binary in an empty image: no shell, no package manager, not root. See docs/automation.md.
FROM rust:1-alpine AS build
RUN apk add --no-cache musl-dev
WORKDIR /source
COPY . .
RUN cargo build --release --locked && mkdir -p /image/debates

FROM scratch
COPY --from=build /source/target/release/dialectic /dialectic
# Debates are kept in a directory that belongs to whom the program runs as.
COPY --from=build --chown=65532:65532 /image /work
USER 65532:65532
WORKDIR /work
VOLUME /work/debates
EXPOSE 8080
ENTRYPOINT ["/dialectic"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8080", "--max-cost", "1", "--max-cost-per-day", "10"]
