/** The status page as it is served: what a browser may do with it, and that nothing in it comes from elsewhere. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pageRoutes } from '../../../src/http/page-files.ts'
import type { Reply } from '../../../src/http/server.ts'

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'src', 'http', 'page')
const files = readdirSync(FOLDER)
const textOf = (name: string) => readFileSync(join(FOLDER, name), 'utf8')
const routes = pageRoutes()

async function reply(path: string): Promise<Reply> {
  const answer = await routes[path]?.({ query: new URLSearchParams(), headers: {} })
  if (answer === undefined || 'listen' in answer) throw new Error(`Nothing is served at ${path}`)
  return answer
}

test('every file has a path, and nothing else has', () => {
  expect(Object.keys(routes).sort()).toEqual(
    files.map((name) => (name === 'index.html' ? '/' : `/page/${name}`)).sort(),
  )
})

test.each(Object.keys(routes))('%s is what it says it is, and may load nothing from elsewhere', async (path) => {
  const { contentType, headers } = await reply(path)
  expect(contentType).toMatch(/^(text\/(html|css|javascript); charset=utf-8|image\/svg\+xml)$/)
  const policy = headers?.['content-security-policy'] ?? ''
  expect(policy.split('; ')).toEqual([
    ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'"],
    ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
    ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
  ])
})

test('what the page names is served', () => {
  const named = files.flatMap((name) =>
    [...textOf(name).matchAll(/(?:src|href)="(\/[^"]*)"|^import .* from '\.\/([^']+)'/gm)].map(
      ([, path, module]) => path ?? `/page/${module}`,
    ),
  )
  expect(named.length).toBeGreaterThan(10)
  expect(
    named.filter((path) => !path.startsWith('/v1/') && path !== '/metrics' && !Object.hasOwn(routes, path)),
  ).toEqual([])
})

test.each(files)('%s asks nobody else and makes no text into markup', (name) => {
  // An XML namespace is a name, not an address.
  const text = textOf(name).replace('xmlns="http://www.w3.org/2000/svg"', '')
  expect(text).not.toMatch(/https?:|\/\/[a-z0-9-]+\.|url\(|@import/)
  expect(text).not.toMatch(
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function| on[a-z]+=|style="/,
  )
  expect(text, 'the words of RFC 9568').not.toMatch(/\bmaster\b/i)
})
