/** Resolves a revision of a repository to its commit, for `models pin`. Downloads nothing. */

import type { ForwardProxies } from "../forward-proxy/index.ts";
import { refusalOf } from "./fetch/download-refusal.ts";
import { systemWaiting } from "./fetch/fetch-attempts.ts";
import { openTransport, TRANSPORT_LIMITS } from "./fetch/hub-transport.ts";
import { chosenManifest, DEFAULT_ENDPOINT, endpointOf, graphIn, likelyExternal } from "./hub/choose.ts";
import { listRepository } from "./hub/listing.ts";
import { ModelError } from "./model-error.ts";
import type { ManifestFile } from "./types.ts";

interface PinQuestion {
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
export async function pinModel(question: PinQuestion): Promise<Pin> {
  const { repo, revision, model, token, userAgent, signal } = question;
  const endpoint = endpointOf({ endpoint: question.endpoint ?? DEFAULT_ENDPOINT });
  const transport = openTransport({ ...TRANSPORT_LIMITS, userAgent, proxies: question.proxies });
  try {
    const listing = await listRepository(
      { transport, waiting: systemWaiting, endpoint, token },
      repo,
      revision,
      signal,
    );
    const { commit, files, isGated, isPrivate, license, modifiedAt } = listing;
    if (/^[0-9a-f]{40}$/.test(revision) && commit !== revision) {
      throw new ModelError("mismatch", `${endpoint}/${repo} answers with commit ${commit} in place of ${revision}`);
    }
    const graph = graphIn(listing, model);
    if (graph === undefined) {
      const graphs = files.map(({ path }) => path).filter((path) => path.endsWith(".onnx"));
      const has = graphs.length === 0 ? "it has no ONNX graph" : `it has ${graphs.slice(0, 50).join(", ")}`;
      throw new ModelError(
        "absent",
        `${endpoint}/${repo} has no ${model ?? "graph at a usual place"} at this commit: ${has}`,
      );
    }
    const hub = { repo, revision: commit, endpoint, model: graph };
    const manifest = chosenManifest({ name: repo, hub }, "whole", listing);
    const probe = manifest.files.find(({ role }) => role !== "graph") ?? manifest.files[0];
    const answer = probe && (await transport.open({ url: new URL(probe.url), token, signal }));
    const isHad = answer === undefined || answer.status === 200;
    const denied = isHad ? undefined : await refusalOf(answer, token);
    answer?.body.destroy();
    return {
      endpoint,
      commit,
      graph,
      files: manifest.files,
      likely: likelyExternal(graph, manifest.candidates),
      license,
      modifiedAt,
      needsToken: isGated || isPrivate,
      denied: denied?.message,
    };
  } finally {
    await transport.close();
  }
}
