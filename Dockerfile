# The image of `fallgate`: Python, what it needs by hash, itself compiled. For a build that is the same tomorrow name the base by
# digest: --build-arg PYTHON=3.13-slim-bookworm@sha256:...
ARG PYTHON=3.13-slim-bookworm

FROM python:${PYTHON} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
# Only wheels: nothing is compiled, and no script of a package runs.
COPY requirements/run.txt requirements/build.txt requirements/
RUN python -m venv --without-pip /opt/fallgate
RUN python -m pip --python /opt/fallgate/bin/python install --require-hashes --only-binary=:all: -r requirements/run.txt
RUN python -m pip install --require-hashes --only-binary=:all: -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY certs certs
COPY webhook webhook
RUN python -m pip wheel --no-index --no-deps --no-build-isolation --wheel-dir dist .
RUN python -m pip --python /opt/fallgate/bin/python install --no-index --no-deps --no-compile dist/*.whl
# The root file system is read-only where it runs: what is not compiled here would be compiled at every start.
RUN python -m compileall -q --invalidation-mode unchecked-hash /opt/fallgate/lib

FROM python:${PYTHON}
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="fallgate" \
      org.opencontainers.image.description="Admission webhook for Kubernetes Dynamic Resource Allocation" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
# What installs packages has no place where packages run.
RUN rm -rf /usr/local/lib/python3*/site-packages/* /usr/local/lib/python3*/ensurepip /usr/local/bin/pip* /usr/local/bin/idle*
COPY --from=build /opt/fallgate /opt/fallgate
ENV PATH=/opt/fallgate/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["fallgate"]
CMD ["--help"]
