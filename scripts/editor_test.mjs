// What an editor shows with the schema of `llsd schema`: the YAML language server is started as an editor starts it,
// and asked for diagnostics and completions over its standard streams.
// Arguments: the server's program, and a folder with llsd.schema.json and resources whose first line names it.

import { spawn } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [program, given] = process.argv.slice(2)
const folder = resolve(given)
const server = spawn(process.execPath, [program, '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] })
const answers = new Map()
const diagnostics = new Map()
let received = Buffer.alloc(0)
let asked = 0

function send(message) {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message })
  server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

function ask(method, params) {
  const id = ++asked
  send({ id, method, params })
  return new Promise((done) => answers.set(id, done))
}

const SETTINGS = { yaml: { validate: true, completion: true, hover: true, schemaStore: { enable: false } } }

function take(message) {
  if (message.method === 'textDocument/publishDiagnostics') {
    diagnostics.get(message.params.uri)?.(message.params.diagnostics)
  } else if (message.method && message.id !== undefined) {
    const one = (item) => item.section.split('.').reduce((found, key) => found?.[key], SETTINGS) ?? null
    const result = message.method === 'workspace/configuration' ? message.params.items.map(one) : null
    send({ id: message.id, result })
  } else if (answers.has(message.id)) {
    answers.get(message.id)(message.result)
    answers.delete(message.id)
  }
}

server.stdout.on('data', (bytes) => {
  received = Buffer.concat([received, bytes])
  for (;;) {
    const end = received.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = Number(/Content-Length: (\d+)/.exec(received.subarray(0, end).toString())[1])
    if (received.length < end + 4 + length) return
    const body = received.subarray(end + 4, end + 4 + length).toString()
    received = received.subarray(end + 4 + length)
    take(JSON.parse(body))
  }
})

let opened = 0
/** Opens a text as a file of the folder, and waits for what the server says of it. */
async function open(text) {
  const uri = pathToFileURL(join(folder, `opened-${++opened}.yaml`)).href
  const said = new Promise((done, fail) => {
    diagnostics.set(uri, done)
    setTimeout(() => fail(new Error('the language server says nothing')), 30_000).unref()
  })
  send({ method: 'textDocument/didOpen', params: { textDocument: { uri, languageId: 'yaml', version: 1, text } } })
  return { uri, said: (await said).map((one) => `${one.range.start.line + 1}: ${one.message}`) }
}

async function completions(text) {
  const at = text.indexOf('|')
  const before = text.slice(0, at).split('\n')
  const { uri } = await open(text.replace('|', ''))
  const position = { line: before.length - 1, character: before.at(-1).length }
  const found = await ask('textDocument/completion', { textDocument: { uri }, position })
  return (found.items ?? found).map((item) => item.label)
}

let failed = 0
function check(what, holds, otherwise) {
  if (!holds) failed += 1
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}${holds ? '' : `: ${JSON.stringify(otherwise)}`}`)
}

await ask('initialize', {
  processId: process.pid,
  rootUri: pathToFileURL(folder).href,
  capabilities: { workspace: { configuration: true }, textDocument: { completion: {}, hover: {} } },
})
send({ method: 'initialized', params: {} })

for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml'))) {
  const { said } = await open(readFileSync(join(folder, file), 'utf8'))
  check(`${file} is fine`, said.length === 0, said)
}

const head = `# yaml-language-server: $schema=llsd.schema.json
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata:
  name: demo
spec:
  distribution:
    name: starter
`
const WRONG = [
  ['a misspelt field of a provider', '  providers:\n    inference:\n      provider: vllm\n      endpont: http://vllm\n', 'endpont'],
  ['the same in a list', '  providers:\n    inference:\n      - provider: vllm\n        endpont: http://vllm\n', 'endpont'],
  ['a field at the wrong place', '  replicas: 2\n', 'replicas'],
  ['a port out of range', '  networking:\n    port: 80\n', '1024'],
  ['a missing field', '  providers:\n    inference:\n      endpoint: http://vllm\n', 'provider'],
  ['a wrong type', '  resources:\n    models: llama\n', 'array'],
  ['a value that is none of those allowed', '  storage:\n    kv:\n      type: etcd\n', 'redis'],
]
for (const [what, text, word] of WRONG) {
  const { said } = await open(head + text)
  check(`${what} is marked`, said.some((one) => one.includes(word)), said)
}
const OFFERED = [
  ['below spec', '  |\n', ['providers', 'networking', 'workload']],
  ['below a provider', '  providers:\n    inference:\n      provider: vllm\n      |\n', ['endpoint', 'apiKey', 'settings']],
  ['below one of several', '  providers:\n    inference:\n      - provider: vllm\n        |\n', ['endpoint', 'id']],
  ['below a key', '  providers:\n    inference:\n      provider: vllm\n      apiKey:\n        |\n', ['secretKeyRef', 'name']],
  ['values', '  workload:\n    storage:\n      deletionPolicy: |\n', ['Retain', 'Delete']],
]
for (const [what, text, words] of OFFERED) {
  const found = await completions(head + text)
  check(`${what} is completed`, words.every((word) => found.includes(word)), found)
}
const { uri } = await open(`${head}  networking:\n    port: 8321\n`)
const hover = await ask('textDocument/hover', { textDocument: { uri }, position: { line: 9, character: 6 } })
check('a field says what it is for', JSON.stringify(hover ?? '').length > 40, hover)

server.kill()
console.log(failed === 0 ? 'all as it should be' : `${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
