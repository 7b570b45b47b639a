/**
 * Serves the files of the status page (page/), which are read once, with headers that limit the browser. This file
 * decides that the page loads nothing from elsewhere and cannot be framed. This file does not know the content of the
 * page.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { PAGE_PATH, type Reply, type Routes } from './server.ts'

/**
 * Folder with the files of the status page: beside this module, or beside the bundle that contains it
 * (scripts/bundle.mjs).
 */
const FOLDER = new URL('./page/', import.meta.url)

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    ...['script-src', 'style-src', 'connect-src', 'img-src'].map((what) => `${what} 'self'`),
    ...['base-uri', 'form-action', 'frame-ancestors'].map((what) => `${what} 'none'`),
    "require-trusted-types-for 'script'",
    // The browser allows no Trusted Types policy, so no text becomes a script.
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
}

/**
 * Returns the routes of the status page. Throws Error if the files cannot be read: this thread has no privileges for
 * files of other users.
 */
export function pageRoutes(folder = FOLDER): Routes {
  const reply = (name: string): Reply => ({
    status: 200,
    contentType: CONTENT_TYPES[extname(name)] ?? 'application/octet-stream',
    headers: HEADERS,
    body: readFileSync(new URL(name, folder), 'utf8'),
  })
  const replies = readdirSync(folder).map((name) => [name, reply(name)] as const)
  return Object.fromEntries(
    replies.map(([name, answer]) => [name === 'index.html' ? '/' : `${PAGE_PATH}${name}`, () => answer]),
  )
}
