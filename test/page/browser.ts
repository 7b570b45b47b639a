/**
 * Runs headless Chromium on a host of the lab, and collects what the browser complains about. This file decides what
 * counts as a complaint, and where screenshots are stored. This file does not know what a page shows.
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { packageRoot } from '../../src/lab/installation.ts'
import type { Host, Lab } from '../../src/lab/lab.ts'

const CHROMIUM = '/usr/bin/chromium'
export const PICTURES = join(packageRoot(), 'build', 'page')

export const PHONE = { width: 360, height: 780 }
export const DESKTOP = { width: 1280, height: 900 }

export class LabBrowser {
  readonly #browser: Browser
  readonly complaints: string[] = []

  private constructor(browser: Browser) {
    this.#browser = browser
  }

  static async on(lab: Lab, host: Host): Promise<LabBrowser> {
    const command = join(lab.directory, 'chromium')
    writeFileSync(command, `#!/bin/sh\nexec ${lab.commandOn(host, [CHROMIUM]).join(' ')} "$@"\n`)
    chmodSync(command, 0o755)
    // Chromium runs as root without a sandbox: it opens only the daemon's status page, on a LAN without a route to
    // other networks.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--force-device-scale-factor=1']
    return new LabBrowser(await chromium.launch({ executablePath: command, args, headless: true }))
  }

  /**
   * Opens a page in the browser. An error in the browser's console counts as a complaint, unless `silence` matches its
   * text: a dead node refuses connections.
   */
  async open(url: string, options: BrowserContextOptions, silence = /^$/): Promise<Page> {
    const context = await this.#browser.newContext({ timezoneId: 'UTC', locale: 'en-GB', ...options })
    const page = await context.newPage()
    const complain = (words: string) => {
      if (!silence.test(words)) this.complaints.push(`${url}: ${words}`)
    }
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complain(message.text())
    })
    page.on('pageerror', (error) => complain(`thrown: ${error.message}`))
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== new URL(url).origin) complain(`asked elsewhere: ${request.url()}`)
    })
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', ({ blockedURI, violatedDirective }) =>
        console.error(`policy violated: ${violatedDirective} ${blockedURI}`),
      )
    })
    await page.goto(url)
    return page
  }

  async close(): Promise<void> {
    await this.#browser.close()
  }
}

/** Saves a screenshot of the page for people. No test compares it. */
export async function picture(page: Page, name: string, fullPage = true): Promise<void> {
  mkdirSync(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage })
}
