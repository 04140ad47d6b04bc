/** Text of a source in a command: whole, or in parts if it would not fit. */
import { type Cluster, putBlob, type WriteOptions } from "../../cluster/index.ts";

/**
 * Bytes of UTF-8 above which a text is split into parts. A command is limited to 1 MiB of JSON, and JSON doubles a text of
 * quotes and line ends.
 */
const MAX_INLINE_BYTES = 384 * 1024;

type SourceContent = { readonly text: string } | { readonly blob: { readonly sha256: string; readonly parts: number } };

export async function contentOf(
  cluster: Pick<Cluster, "write">,
  text: string,
  write: WriteOptions,
): Promise<SourceContent> {
  const bytes = Buffer.from(text, "utf8");
  return bytes.length > MAX_INLINE_BYTES ? { blob: await putBlob(cluster, bytes, write) } : { text };
}
