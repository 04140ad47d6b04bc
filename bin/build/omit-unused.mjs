/**
 * Omits parts of packages that are loaded with the package and never used by the program, since every process would read them
 * at its start.
 */

const NAMESPACE = "unused";

const FAILS = 'throw new Error("this part of a package is not in the bundle: see bin/build/omit-unused.mjs");';

/** `from`: the importing file; `path`: what it imports; `contents`: what it gets instead, enough for the file to load. */
const PARTS = [
  // React's developer tools, which Ink loads if DEV is set, and the file systems of phones.
  {
    from: /./,
    path: /^(react-devtools-core|react-native-fs|react-native-fetch-blob)$/,
    contents: "export default { initialize() {}, connectToDevTools() {} };",
  },
  // The browser interfaces, which make Node.js load its own copy too; mocks for tests; caches.
  {
    from: /[\\/]undici[\\/]index\.js$/,
    path: /^\.\/lib\/(web|mock|cache|interceptor)\//,
    contents: "module.exports = { CacheStorage: class {} };",
  },
  // The program checks schemas and writes answers itself; injected requests are for tests.
  {
    from: /[\\/]fastify[\\/]/,
    path: /^(@fastify\/ajv-compiler|@fastify\/fast-json-stringify-compiler|light-my-request)$/,
    contents: `module.exports = () => () => { ${FAILS} };`,
  },
];

export const withoutUnused = {
  name: "without-unused",
  setup(build) {
    for (const [at, part] of PARTS.entries()) {
      build.onResolve({ filter: part.path }, ({ path, importer }) =>
        part.from.test(importer) ? { path, namespace: NAMESPACE, pluginData: at } : undefined,
      );
    }
    build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ pluginData }) => ({
      contents: PARTS[pluginData].contents,
    }));
  },
};
