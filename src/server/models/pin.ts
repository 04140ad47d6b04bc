/** Resolves a revision of a repository to its commit, for `models pin`. Downloads nothing. */

import type { ForwardProxies } from "../forward-proxy/index.ts";
import { readRefusal } from "./fetch/download-refusal.ts";
import { systemRetryTiming } from "./fetch/fetch-attempts.ts";
import { openTransport, TRANSPORT_LIMITS } from "./fetch/hub-transport.ts";
import { chooseManifest, DEFAULT_ENDPOINT, endpointOf, findGraph, likelyExternalData } from "./hub/choose.ts";
import { listRepository } from "./hub/listing.ts";
import { ModelError } from "./model-error.ts";
import type { ManifestFile } from "./types.ts";

interface PinOptions {
  /** Repository, as `owner/name`. */
  readonly repo: string;
  /** Branch, tag or commit. */
  readonly revision: string;
  /** Path of the graph; `undefined` tries the usual paths. */
  readonly model: string | undefined;
  readonly endpoint: string | undefined;
  readonly token: string | undefined;
  readonly userAgent: string;
  readonly proxies?: ForwardProxies;
  readonly signal: AbortSignal;
}

export interface Pin {
  readonly endpoint: string;
  readonly commit: string;
  /** Path of the graph. */
  readonly graph: string;
  readonly files: readonly ManifestFile[];
  /** Files that probably hold the graph's weights. The graph itself names them once it is downloaded. */
  readonly likely: readonly ManifestFile[];
  readonly license: string | undefined;
  readonly modifiedAt: string | undefined;
  /** True if the gateway will need a token. */
  readonly needsToken: boolean;
  /** Reason why this token cannot fetch the files; `undefined` if it can. */
  readonly denied: string | undefined;
}

/** Resolves a revision. Rejects with `ModelError`. */
export async function pinModel(options: PinOptions): Promise<Pin> {
  const { repo, revision, model, token, userAgent, signal } = options;
  const endpoint = endpointOf({ endpoint: options.endpoint ?? DEFAULT_ENDPOINT });
  const transport = openTransport({ ...TRANSPORT_LIMITS, userAgent, proxies: options.proxies });
  try {
    const listing = await listRepository(
      { transport, waiting: systemRetryTiming, endpoint, token },
      repo,
      revision,
      signal,
    );
    const { commit, files, isGated, isPrivate, license, modifiedAt } = listing;
    if (/^[0-9a-f]{40}$/.test(revision) && commit !== revision) {
      throw new ModelError("mismatch", `${endpoint}/${repo} answers with commit ${commit} in place of ${revision}`);
    }
    const graph = findGraph(listing, model);
    if (graph === undefined) {
      const graphs = files.map(({ path }) => path).filter((path) => path.endsWith(".onnx"));
      const has = graphs.length === 0 ? "it has no ONNX graph" : `it has ${graphs.slice(0, 50).join(", ")}`;
      throw new ModelError(
        "absent",
        `${endpoint}/${repo} has no ${model ?? "graph at a usual place"} at this commit: ${has}`,
      );
    }
    const hub = { repo, revision: commit, endpoint, model: graph };
    const manifest = chooseManifest({ name: repo, hub }, "whole", listing);
    const probe = manifest.files.find(({ role }) => role !== "graph") ?? manifest.files[0];
    const answer = probe && (await transport.send({ url: new URL(probe.url), token, signal }));
    const isFetchable = answer === undefined || answer.status === 200;
    const denied = isFetchable ? undefined : await readRefusal(answer, token);
    answer?.body.destroy();
    return {
      endpoint,
      commit,
      graph,
      files: manifest.files,
      likely: likelyExternalData(graph, manifest.candidates),
      license,
      modifiedAt,
      needsToken: isGated || isPrivate,
      denied: denied?.message,
    };
  } finally {
    await transport.close();
  }
}
