# LengthLens in a container: docker build -t lengthlens . && docker run --rm -p 8050:8050 lengthlens
# Runs of your own: docker run --rm -p 8050:8050 -v "$PWD/checkpoints:/runs" lengthlens app /runs --host 0.0.0.0
FROM python:3.12-slim
WORKDIR /lengthlens
# The index's own torch is some gigabytes larger; this one is in place when the package asks for it.
COPY constraints.txt requirements.loc[k] ./
RUN pip install --no-cache-dir --no-deps -c constraints.txt torch --index-url https://download.pytorch.org/whl/cpu
# By hash, once `make pins` has written the hashes.
RUN test ! -e requirements.lock || pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE ./
COPY lengthlens lengthlens
COPY workbench workbench
COPY probes probes
COPY circuits circuits
COPY checkpoints checkpoints
RUN pip install --no-cache-dir -c constraints.txt . && useradd --create-home lens && mkdir /runs && chown lens /runs
USER lens
WORKDIR /runs
ENV OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1
EXPOSE 8050
ENTRYPOINT ["lengthlens"]
CMD ["gallery", "--host", "0.0.0.0"]
