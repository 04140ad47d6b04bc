/**
 * `npm run generate:proto`: generates the types of the messages in proto/ to one file,
 * src/server/ext-proc/messages.generated.ts. The generator of @grpc/proto-loader writes one file per message; this
 * script joins them. A test fails if the file does not match proto/. With an argument, writes to that file instead.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const OPTIONS = ["--oneofs", "--keepCase", "--longs=Number", "--importFileExtension=.ts", "--grpcLib=@grpc/grpc-js"];
const target = process.argv[2] ?? join(root, "src/server/ext-proc/messages.generated.ts");
const generator = join(root, "node_modules/@grpc/proto-loader/build/bin/proto-loader-gen-types.js");

const HEAD = `/** Types of the messages in proto/, written by \`npm run generate:proto\`. */
import type * as grpc from "@grpc/grpc-js";
import type { EnumTypeDefinition, MessageTypeDefinition, MethodDefinition } from "@grpc/proto-loader";
`;

/** Returns the text of a generated file without its imports, and with message names without their packages. */
function declarations(text) {
  return text
    .replace(/^import .*\n/gm, "")
    .replace(/^\/\/ Original file: .*\n/gm, "")
    .replace(/\b_(?:envoy_service_ext_proc_v3|google_protobuf)_/g, "")
    .trim();
}

const folder = mkdtempSync(join(tmpdir(), "gateway-proto-"));
try {
  execFileSync(
    process.execPath,
    [generator, ...OPTIONS, `--outDir=${folder}`, "-I", "proto", "--", "external_processor.proto"],
    { cwd: root, stdio: ["ignore", "ignore", "inherit"] },
  );
  const paths = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((path) => path.endsWith(".ts"))
    .sort();
  const texts = paths.map((path) => declarations(readFileSync(join(folder, path), "utf8")));
  writeFileSync(target, `${[HEAD, ...texts].join("\n\n").replace(/\n{3,}/g, "\n\n")}\n`);
} finally {
  rmSync(folder, { recursive: true });
}
