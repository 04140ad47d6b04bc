/**
 * `npm run generate:proto`: generates the types of the messages in proto/ into src/server/ext-proc/generated, or into the folder
 * of its argument. A test compares them with proto/.
 */
import { execFileSync } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const OPTIONS = ["--oneofs", "--keepCase", "--longs=Number", "--importFileExtension=.ts", "--grpcLib=@grpc/grpc-js"];
const outDir = process.argv[2] ?? join(root, "src/server/ext-proc/generated");
const generator = join(root, "node_modules/@grpc/proto-loader/build/bin/proto-loader-gen-types.js");

execFileSync(
  process.execPath,
  [generator, ...OPTIONS, `--outDir=${outDir}`, "-I", "proto", "--", "external_processor.proto"],
  { cwd: root, stdio: ["ignore", "ignore", "inherit"] },
);
