/**
 * Tests the status page as a browser on the LAN shows it: three nodes, a failing check, a killed engine. The content of
 * the page is compared with the status of each node over its own control socket. Screenshots are left in build/page.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RouterSnapshot } from '../../src/daemon/telemetry/snapshot.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { eventually } from '../../src/lab/wait.ts'
import { describePage } from '../support/require.ts'
import { DESKTOP, LabBrowser, PHONE, picture } from './browser.ts'
import { PageCluster } from './cluster-lab.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core')
const FINDINGS = `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) =>
  nodes.map(({ html, failureSummary }) => [id, html, failureSummary].join(' | '))))`

const textOf = async (page: Page, selector: string) => ((await page.locator(selector).textContent()) ?? '').trim()
const headline = (page: Page) => textOf(page, 'h1')

/** Returns the element of the page with a text about a holder, such as "node1 holds 10.77.0.100". */
const says = (page: Page, words: RegExp) =>
  eventually(`the page at ${page.url()} to say ${words}`, async () => words.test(await headline(page)), {
    sight: async () => [await headline(page), await textOf(page, '#line')],
    every: 50,
  })

/** Returns the rows of the page's table of nodes, by node name. */
async function rowsOf(page: Page): Promise<Record<string, { state: string; priority: string; since: string }>> {
  return await page.locator('table.nodes tbody tr').evaluateAll((rows) =>
    Object.fromEntries(
      rows.map((row) => [
        row.getAttribute('data-node') ?? '',
        {
          state: (row.querySelector('.state')?.textContent ?? '').replace(/^\W+/, ''),
          priority: row.querySelector('.sum')?.textContent ?? '',
          since: row.querySelector('time')?.getAttribute('datetime') ?? '',
        },
      ]),
    ),
  )
}

/** Returns the row that the page should show for a router with this status. */
function rowFor({ priority, since, state, tracking }: RouterSnapshot) {
  const terms = tracking.parts.map(({ adds, name }) => ` + ${adds} ${name}`)
  return { state, priority: `${priority.effective} = ${priority.base} base${terms.join('')}`, since }
}

describePage('status page', () => {
  let cluster: PageCluster
  let browser: LabBrowser
  /** The status page of node2, which runs until the end of all tests. */
  let page: Page

  beforeAll(async () => {
    cluster = await PageCluster.settled()
    browser = await LabBrowser.on(cluster.lab, cluster.lab.client)
    page = await browser.open(cluster.url(2), { viewport: DESKTOP, colorScheme: 'light' })
    await says(page, /^node1 holds/)
  }, 120_000)
  afterAll(async () => {
    await browser?.close()
    cluster?.lab.destroy()
  })

  /** Resolves when the status page shows the status that all nodes report. */
  async function agrees(occasion: string): Promise<void> {
    const said = async () =>
      Object.fromEntries(
        await Promise.all([1, 2, 3].map(async (n) => [`node${n}`, rowFor(await cluster.node(n).router())] as const)),
      )
    await eventually(
      `the page to show what the nodes say of themselves ${occasion}`,
      async () => JSON.stringify(await rowsOf(page)) === JSON.stringify(await said()),
      { sight: async () => ({ page: await rowsOf(page), nodes: await said() }), every: 100 },
    )
  }

  /** Returns the events that the page shows, as lines such as "node1 api: Active → Backup: …". */
  const events = () =>
    page
      .locator('.events tbody tr')
      .evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent).join(' ')),
      )

  async function accessible(where: Page): Promise<void> {
    // The content security policy of the status page blocks foreign scripts. For this reason axe is loaded over the
    // debugger's protocol.
    const session = await where.context().newCDPSession(where)
    await session.send('Runtime.evaluate', { expression: readFileSync(AXE, 'utf8') })
    const { result } = await session.send('Runtime.evaluate', {
      expression: FINDINGS,
      awaitPromise: true,
      returnByValue: true,
    })
    await session.detach()
    expect(result.value, `what axe finds at ${where.url()}`).toEqual([])
  }

  test('the page first shows the holder of the address, the time and the reason', async () => {
    const { since } = await cluster.node(1).router()
    const words = await headline(page)
    expect(words).toMatch(
      new RegExp(
        `^node1 holds ${LAB_VIP.replaceAll('.', '\\.')} since ${since.slice(11, 19)} \\(.*\\), because .*\\.$`,
      ),
    )
    expect(await textOf(page, '.next')).toBe('Next in line: node2 (priority 125), then node3 (priority 120).')
    expect(await page.title()).toBe(`node1 holds ${LAB_VIP}. – holdfast`)
    const first = await page
      .locator('main :is(h1, h2, p, li, td)')
      .first()
      .evaluate((element) => element.tagName)
    expect(first).toBe('H1')
  })

  test('the values of the page are those of /v1/status of each node', async () => {
    await agrees('at first')
    await eventually('the page to be told of events', async () => /^live/.test(await textOf(page, '#line')), {
      sight: () => textOf(page, '#line'),
      every: 50,
    })
    const without = await page.locator('tr[data-node=node1] .without li').allTextContents()
    expect(without).toEqual([
      'if api-readyz fails: 80; node2 (125) would take over',
      'if haproxy fails: 110; node2 (125) would take over',
    ])
    await picture(page, '1-before-desktop-light')
  })

  test.each([1280, 800])('the head of each column is one line at %i pixels', async (width) => {
    await page.setViewportSize({ width, height: DESKTOP.height })
    const heads = await page.locator('thead th').evaluateAll((cells) =>
      cells.map((cell) => {
        const range = document.createRange()
        range.selectNodeContents(cell)
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size
        return { head: cell.textContent, lines }
      }),
    )
    await page.setViewportSize(DESKTOP)
    expect(heads.map(({ head }) => head)).toContain('Check')
    expect(heads.filter(({ lines }) => lines > 1)).toEqual([])
  })

  test('a browser may load only this page and ask only this node', async () => {
    const ask = (path: string, ...more: string[]) =>
      cluster.lab.exec(cluster.lab.client, [
        'curl',
        '-s',
        '--path-as-is',
        '-D',
        '-',
        ...more,
        `${cluster.url(2)}${path}`,
      ])
    const head = ask('/', '-o', '/dev/null')
    expect(head).toContain("content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'")
    expect(head).toContain("frame-ancestors 'none'")
    expect(head).not.toContain('unsafe')
    expect(head).toContain('x-content-type-options: nosniff')
    expect(head).toContain('cache-control: no-store')
    for (const path of ['/page/../public-port.js', '/page/%2e%2e/worker.js', '/page/', '/page/index.html'])
      expect(ask(path), path).toMatch(/^HTTP\/1\.1 404/)
    expect(ask('/', '-X', 'POST')).toMatch(/^HTTP\/1\.1 405/)

    const elsewhere = await browser.open(cluster.url(3), {}, /./)
    const violated = await elsewhere.evaluate(
      (url) =>
        new Promise<string>((resolve) => {
          document.addEventListener('securitypolicyviolation', ({ violatedDirective }) => resolve(violatedDirective))
          document.createElement('img').src = url
        }),
      `${cluster.url(2)}/page/icon.svg`,
    )
    expect(violated, 'a picture of another node').toBe('img-src')
    await elsewhere.context().close()
  })

  test.each([
    ['phone', PHONE, 'light'],
    ['phone', PHONE, 'dark'],
    ['desktop', DESKTOP, 'dark'],
  ] as const)(
    'on a %s of %o, %s, nothing is cut off and axe finds nothing',
    async (device, viewport, colorScheme) => {
      const other = await browser.open(cluster.url(3), { viewport, colorScheme })
      await says(other, /^node1 holds/)
      const { scrollWidth, innerWidth } = await other.evaluate(() => ({
        scrollWidth: document.documentElement.scrollWidth,
        innerWidth: window.innerWidth,
      }))
      expect(scrollWidth, 'width of what is drawn').toBeLessThanOrEqual(innerWidth)
      await picture(other, `1-before-${device}-${colorScheme}`)
      await accessible(other)
      await other.context().close()
    },
    90_000,
  )

  test('the keyboard reaches the window of the time line, and keeps its place while the page goes on', async () => {
    await page.locator('input[data-window="auto"]').focus()
    await page.keyboard.press('ArrowRight')
    await page.waitForTimeout(1_500)
    const focused = await page.evaluate(() => document.activeElement?.getAttribute('data-window'))
    expect(focused).toBe('1 min')
    expect(await page.locator('input[data-window="1 min"]').isChecked()).toBe(true)
    await page.locator('input[data-window="auto"]').check({ force: true })
  })

  test('a failed check removes its weight from the priority, and the page follows the address', async () => {
    cluster.failService(1)
    await cluster.activeOn(2, 'the API of node1 had failed')
    await says(page, /^node2 holds .* because/)
    await agrees('after the move')
    expect((await rowsOf(page)).node1?.priority).toBe('80 = 60 base + 0 api-readyz + 20 haproxy')
    expect(await headline(page)).toContain('because check api-readyz failed on node1 (130 → 80).')
    const attention = () => page.locator('.attention li').allTextContents()
    expect(await attention(), 'the page of node2 names the check of node1').toContain(
      'Problem Check api-readyz is down on node1 (connection refused).',
    )
    await picture(page, '2-check-failed-desktop-light')
    // The next screenshot, of the top of the page only, is for docs/pictures.
    await picture(page, 'status-page', false)
    for (const position of [2, 3]) cluster.failService(position)
    await cluster.activeOn(1, 'the API had failed on all nodes')
    await says(
      page,
      /^node1 holds .*The service does not work there: check api-readyz is down, and on every other node/,
    )
    await eventually(
      'one line for the check of all nodes',
      async () =>
        (await attention()).includes(
          'Problem Check api-readyz is down on node1, node2 and node3 (connection refused).',
        ),
      { sight: attention, every: 50 },
    )
    for (const position of [2, 3]) await cluster.serve(position)
    await cluster.activeOn(2, 'the API of node2 was back')
    await cluster.serve(1)
    await cluster.activeOn(1, 'the API of node1 was back')
    await says(page, /^node1 holds/)
  }, 120_000)

  test('after the death of an engine one page names the new holder, and the other reports the loss of its node', async () => {
    const lost = await browser.open(cluster.url(1), { viewport: PHONE, colorScheme: 'light' }, /net::ERR_/)
    await says(lost, /^node1 holds/)
    cluster.node(1).killEngine()
    await cluster.activeOn(2, 'kill -9 of node1')
    await says(page, /^node2 holds .* because/)
    const { since } = await cluster.node(2).router()
    expect(await headline(page)).toContain(`since ${since.slice(11, 19)}`)
    await eventually(
      'the takeover among the events and on the time line of node2',
      async () =>
        (await events()).some((words) => /^node2 api: Backup → Active: node1 released it/.test(words)) &&
        /Active from .* until now$/.test((await page.locator('.lane .track').nth(1).getAttribute('aria-label')) ?? ''),
      {
        sight: async () => [await events(), await page.locator('.lane .track').nth(1).getAttribute('aria-label')],
        every: 100,
      },
    )
    await eventually(
      'the page to say that node1 does not answer',
      async () =>
        (await page.locator('.attention li.bad').allTextContents()).some((line) => /node1 has not answered/.test(line)),
      { sight: () => textOf(page, '.attention'), every: 100 },
    )
    await picture(page, '3-killed-desktop-light')

    await eventually(
      'the page of node1 to say that it is lost',
      async () => (await lost.locator('.banner').count()) === 1,
      { sight: () => textOf(lost, 'body'), every: 100 },
    )
    expect(await textOf(lost, '.banner')).toMatch(/^No connection to node1 since \d\d:\d\d:\d\d \(/)
    expect(await textOf(lost, '#told'), 'what is told to who does not see it').toMatch(/^No connection to node1 since/)
    expect(await headline(lost), 'nothing is said of now').toMatch(/^node1 held /)
    await picture(lost, '3-killed-phone-light')
    await accessible(lost)

    await cluster.start(1)
    await cluster.activeOn(1, 'node1 was started again')
    await says(page, /^node1 holds/)
    await says(lost, /^node1 holds/)
    expect(await lost.locator('.banner').count()).toBe(0)
    await agrees('in the end')
    await picture(page, '4-after-desktop-light')
    await lost.context().close()
  }, 180_000)

  test('the browser reports no error, no violated policy and no request to another host', () => {
    expect(browser.complaints).toEqual([])
  })
})
