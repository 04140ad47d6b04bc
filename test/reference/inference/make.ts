/**
 * Regenerates `values.json`: the results of Hugging Face transformers, tokenizers and ONNX Runtime in Python for the
 * models and texts of `assets.ts`. Usage: `node --import tsx test/reference/inference/make.ts PYTHON`, where PYTHON has
 * the packages named in `reference.py`.
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeAssets } from "./assets.ts";

const folder = await mkdtemp(join(tmpdir(), "gateway-reference-"));
await writeAssets(folder);
const script = fileURLToPath(new URL("reference.py", import.meta.url));
const values = fileURLToPath(new URL("values.json", import.meta.url));
const { status } = spawnSync(process.argv[2] ?? "python3", [script, folder, values], { stdio: "inherit" });
await rm(folder, { recursive: true });
process.exitCode = status ?? 1;
