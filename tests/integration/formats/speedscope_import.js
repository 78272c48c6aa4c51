// Imports a file with speedscope's own importer and prints what it understood, as JSON.
// usage: node speedscope_import.js NODE_MODULES FILE
//
// The npm package holds the built page only. Its importers need no page, so the script is stopped before it draws one.
'use strict'
const fs = require('fs')
const path = require('path')
const vm = require('vm')

function loadImporters(nodeModules) {
  const release = path.join(nodeModules, 'speedscope', 'dist', 'release')
  const file = fs.readdirSync(release).find(name => /^speedscope-.*\.js$/.test(name))
  let source = fs.readFileSync(path.join(release, file), 'utf8')
  const importers = source.match(/\(await (\w+)\)\.importProfileGroupFromBase64/)
  const start = 'console.log(`speedscope v'
  if (!importers || !source.includes(start)) throw new Error(`${file} is not built as this script expects`)
  source = source.replace(start, `globalThis.importers=${importers[1]};return;${start}`)

  const nothing = new Proxy(function () {}, {
    get: (_, key) => (key === Symbol.toPrimitive ? () => '' : nothing),
    apply: () => nothing,
    construct: () => nothing,
  })
  const page = {
    console: new console.Console(process.stderr), atob, btoa, TextDecoder, TextEncoder, URL, performance, setTimeout, clearTimeout,
    document: nothing, localStorage: nothing, requestAnimationFrame: nothing,
    navigator: { userAgent: '' }, location: { protocol: 'file:', hash: '', href: '' },
    addEventListener() {}, matchMedia: () => ({ matches: false, addListener() {}, addEventListener() {} }),
  }
  page.window = page.self = page.globalThis = page
  vm.runInContext(source, vm.createContext(page), { filename: file })
  return page.importers
}

async function main() {
  const [nodeModules, file] = process.argv.slice(2)
  const importers = await loadImporters(nodeModules)
  const base64 = fs.readFileSync(file).toString('base64')
  const group = await importers.importProfileGroupFromBase64(path.basename(file), base64)
  if (!group) throw new Error('speedscope does not recognise the file')
  const profiles = group.profiles.map(profile => {
    const frames = []
    profile.forEachFrame(frame => frames.push({
      name: frame.name, file: frame.file, line: frame.line,
      self: frame.getSelfWeight(), total: frame.getTotalWeight(),
    }))
    return {
      name: profile.getName(), unit: profile.getWeightUnit(),
      weight: profile.getTotalWeight(), nonIdle: profile.getTotalNonIdleWeight(), frames,
    }
  })
  process.stdout.write(JSON.stringify({ name: group.name, index: group.indexToView, profiles }))
}

main().catch(error => {
  console.error(`${error}`)
  process.exit(1)
})
