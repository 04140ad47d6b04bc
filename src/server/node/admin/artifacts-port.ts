/**
 * Rows of `artifacts`: the model files that the newest configuration needs, and the other files in the cache.
 * Source: design decisions, sections 12 and 17.
 */
import type { ArtifactRecord, RowsOf } from "../../admin/index.ts";
import {
  ModelError,
  type ModelNeed,
  type ModelStatus,
  type ModelSupply,
  type OpenStore,
  readCacheInventory,
} from "../../models/index.ts";
import type { Configuration } from "../configuration/configuration-types.ts";

const NOTIFY_EVERY_MS = 1_000;
/** Maximum number of unused files in the list; a larger cache needs `gateway models prune`. */
const MAX_UNUSED = 1_000;

type Row = Omit<ArtifactRecord, "node">;

interface ArtifactsOptions {
  readonly configuration: Pick<Configuration, "running" | "onChange">;
  readonly store: OpenStore;
  readonly supply: Pick<ModelSupply, "wanted" | "status" | "onChange">;
}

export function artifactRows({ configuration, store, supply }: ArtifactsOptions): RowsOf<"artifacts"> {
  const detectorsOf = (model: string): readonly string[] => {
    const { guardrails } = configuration.running()?.deployment.document ?? {};
    return (guardrails?.detectors ?? []).flatMap((one) => {
      const refs = [one.nlp?.ref, one.classify?.ref, one.embed?.ref];
      return refs.includes(model) ? [one.name ?? one.type] : [];
    });
  };
  return {
    async list() {
      const needs = supply.wanted();
      const statuses = new Map(supply.status().map((one) => [one.name, one]));
      const rows: Row[] = [];
      for (const need of needs) {
        const { name } = need.model;
        rows.push(...(await rowsOf(store, need, statuses.get(name), detectorsOf(name))));
      }
      return [...rows, ...(await unusedRows(store, needs))];
    },
    onChange(listener) {
      const statusText = (): string => JSON.stringify(supply.status());
      let lastStatus = statusText();
      const timer = setInterval(() => {
        const now = statusText();
        if (now === lastStatus) return;
        lastStatus = now;
        listener();
      }, NOTIFY_EVERY_MS).unref();
      const ends = [supply.onChange(listener), configuration.onChange(listener)];
      return () => {
        clearInterval(timer);
        for (const end of ends) end();
      };
    },
  };
}

async function rowsOf(
  store: OpenStore,
  { model, parts }: ModelNeed,
  status: ModelStatus | undefined,
  detectors: readonly string[],
): Promise<readonly Row[]> {
  const { state = "fetching", done = 0, message } = status ?? {};
  const manifest = await store.known(model, parts).catch(ignoreModelError);
  const common = {
    model: model.name,
    state,
    fetched: state === "ready" ? null : done,
    message: message ?? null,
    detectors,
  } as const;
  const hub = manifest?.hub;
  const from =
    hub !== undefined
      ? `${hostOf(hub.endpoint)}/${hub.repo}@${hub.commit}`
      : model.hub === undefined
        ? undefined
        : `${model.hub.repo}@${model.hub.revision}`;
  if (manifest === undefined) {
    return [{ ...common, file: "", role: null, digest: null, size: status?.total ?? null, source: from ?? null }];
  }
  return manifest.files.map(({ path, role, digest, size, url }) => ({
    ...common,
    file: path,
    role,
    digest: `${digest.kind}:${digest.hex}`,
    size,
    source: from ?? hostOf(url),
  }));
}

/** Ignores a model error: the fetch reports its reason. */
function ignoreModelError(error: unknown): undefined {
  if (error instanceof ModelError) return undefined;
  throw error;
}

async function unusedRows(store: OpenStore, needs: readonly ModelNeed[]): Promise<readonly Row[]> {
  const { unused } = await readCacheInventory(store, needs).catch((error: unknown) => {
    ignoreModelError(error);
    return { unused: [] };
  });
  return unused
    .flatMap(({ path, size }): readonly Row[] => {
      const [folder = "", name = ""] = path.split(/[/\\]/);
      if (folder !== "sha256" && folder !== "parts") return [];
      return [
        {
          model: null,
          file: path,
          role: null,
          digest: folder === "sha256" ? `sha256:${name}` : null,
          size,
          state: folder === "sha256" ? "unused" : "partial",
          fetched: null,
          message: null,
          source: null,
          detectors: [],
        },
      ];
    })
    .slice(0, MAX_UNUSED);
}

/** Returns the host only, since an address may contain credentials. */
function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return "";
  }
}
