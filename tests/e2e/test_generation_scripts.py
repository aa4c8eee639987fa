"""What the default settings send of one-line notes does not depend on the script that they are in."""

from __future__ import annotations

from pathlib import Path

from memsidecar_client import AsyncMemsidecar

from tests.sidecar import Sidecar

# What is written, and the note that it needs.
ENGLISH = {
    "I will take the leftover cake to Oskar's party.": "Oskar cannot eat cake with gluten.",
    "Then plug the heater into the socket in the hall.": "The socket in the hall gives off sparks.",
    "Write the invoice to Bergmann in dollars.": "Bergmann only pays invoices in euros.",
    "The piano can be moved upstairs on Friday.": "The piano does not fit through the stairs.",
    "Take the ferry to the island in the evening.": "The last ferry to the island leaves at five.",
    "Let Rosa drive the van to the market.": "Rosa's driving licence is for cars, no van.",
}
CHINESE = {
    "剩下的蛋糕带去老赵的聚会吧。": "老赵不能吃含麸质的蛋糕。",
    "然后把取暖器插在走廊的插座上。": "走廊的插座会冒火花。",
    "给伯格曼开一张美元发票。": "伯格曼只用欧元付发票。",
    "钢琴星期五可以搬上楼。": "钢琴过不了楼梯。",
    "傍晚坐渡轮去岛上。": "去岛上的末班渡轮五点开。",
    "让罗莎开货车去市场。": "罗莎的驾照不能开货车。",
}


async def sent(client: AsyncMemsidecar, pairs: dict[str, str]) -> tuple[int, int]:
    """How many of the notes came with what needs them, and how many others came."""
    for note in pairs.values():
        await client.remember(note, speaker="Ana", skip_extraction=True)
    right = others = 0
    for text, note in pairs.items():
        async with client.generation() as generation:
            await generation.feed(text)
            await generation.flush()
            texts = [hit.memory.text for hit in generation.memories]
        right += note in texts
        others += len(texts) - (note in texts)
    return right, others


async def test_chinese_notes_come_as_english_ones_do(tmp_path: Path) -> None:
    with Sidecar(tmp_path / "data") as server:
        async with AsyncMemsidecar(server.target, user="ana") as client:
            await client.ready(60)
            english, _ = await sent(client, ENGLISH)
        async with AsyncMemsidecar(server.target, user="bo") as client:
            chinese, others = await sent(client, CHINESE)
    assert chinese >= max(english, len(CHINESE) - 1)
    assert others <= 1
