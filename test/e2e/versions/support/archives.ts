/** Archives of the state, and whether the nodes of a cluster are equal. */
import { Readable } from "node:stream";
import { gunzipSync } from "node:zlib";
import { extract } from "tar-stream";
import type { TestCluster } from "../../cluster/support/cluster.ts";
import { GivenUp, until } from "../../cluster/support/until.ts";

export interface ArchiveFacts {
  readonly index: number;
  readonly digest: string;
  readonly feature_level: number;
  readonly gateway_version: string;
}

export async function factsOf(archive: Uint8Array): Promise<ArchiveFacts> {
  const tar = Readable.from([gunzipSync(archive)]).pipe(extract());
  let facts: ArchiveFacts | undefined;
  for await (const entry of tar) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    if (entry.header.name === "meta.json") facts = JSON.parse(Buffer.concat(chunks).toString()) as ArchiveFacts;
  }
  if (facts === undefined) throw new Error("an archive without meta.json");
  return facts;
}

/**
 * Returns the digest that all nodes have at one index; nodes propose by themselves now and then, so they are asked
 * until their indexes are equal. Rejects if two differ at the same index.
 */
export function sameDigest(cluster: TestCluster): Promise<ArchiveFacts> {
  const seen = new Map<number, string>();
  return until("all nodes at one index", async () => {
    const facts = await Promise.all(cluster.nodes.map(async ({ nodeClient }) => factsOf(await nodeClient.save(true))));
    for (const [at, { index, digest }] of facts.entries()) {
      const known = seen.get(index) ?? digest;
      if (known !== digest) throw new GivenUp(`${cluster.nodes[at]?.id} has another state at index ${index}`);
      seen.set(index, digest);
    }
    const [first] = facts;
    return facts.every(({ index }) => index === first?.index) && first;
  });
}
