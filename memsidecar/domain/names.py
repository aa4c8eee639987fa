"""The word lists behind the rules of `mentions`: what looks like a name by its shape and is none."""

from __future__ import annotations

# Capitalised by grammar or by custom, not because they name something.
COMMON = frozenset(
    """I I'm I've I'll I'd The A An This That These Those There Here It It's He She We They You Your My Our His Her
    Their Me Us What When Where Who Whom Whose Which Why How And But Or So If Then Because While After Before
    Since Until Although Yes No Not Hey Hi Hello Wow Thanks Thank Sure Ok Okay Oh Well Yeah Yep Nope Great Good
    Nice Cool Sorry Please Let Lets Let's That's What's There's Here's Is Are Was Were Do Does Did Have Has Had
    Can Could Will Would Should May Might Must In On At By For With From To Of As Just Also Maybe Actually
    Really Absolutely Definitely Certainly Course Sounds Congrats Congratulations Monday Tuesday Wednesday
    Thursday Friday Saturday Sunday Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun January February March April
    June July August September October November December Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mr Mrs
    Ms Dr Mom Dad User Assistant System Today Tomorrow Yesterday Some Any All Each Every Both Many Most More
    First Second Next Last Finally Step Note Example Use Using Make Get Got Go Now Still Even Only Once Again
    Never Always Often Sometimes Don't Doesn't Didn't Can't Won't Isn't Aren't Wasn't Bye Goodbye Aww Aw Awesome
    Woohoo Woo Yay Haha Ha Hmm Ah Ugh Whoa Woah Remember Amazing Glad Happy Love Dear Perfect Exactly Totally
    Agreed Indeed Welcome Cheers Anyway However Therefore Meanwhile Morning Afternoon Evening Night Tonight Keep
    Check Look See Tell Ask Call Remind Try Take Give Come Connected Proud Btw Fyi Lol Omg Asap Imo Imho Tbh
    Afaik Ps Pm Am App Faq Eta Diy Tv Usb Pdf Id Ai Ceo Vip Ppt Url Api Faqs Etc Iirc Rn Idk Nvm""".split()
)
COMMON_FOLDED = frozenset(word.casefold() for word in COMMON)

SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘"
    "杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
)
# Never the second or third character of a name: grammar, pronouns, numbers of days and the like.
NOT_GIVEN = (
    "的了是在我你您他她它们这那和与及就都也很不没吗呢吧啊呀着过有个么些去来到说会要想能可以为把被让给对从"
    "向又再还只才问跟请将已最太更总"
)
# Words of two characters that begin with a surname.
NOT_NAMES = frozenset(
    """王者 王国 王子 王后 王朝 王室 王牌 王位 王冠 李子 李花 张开 张望 张贴 张嘴 张口 张大 张扬 张力 张罗 刘海
    陈列 陈旧 陈述 陈年 陈词 陈醋 杨树 杨梅 杨桃 杨柳 黄色 黄金 黄昏 黄瓜 黄油 黄豆 黄牛 黄河 黄山 黄土 周末
    周围 周日 周一 周二 周三 周四 周五 周六 周年 周边 周到 周期 周全 周折 周密 周身 徐徐 徐缓 孙子 孙女 胡同
    胡子 胡椒 胡萝 胡须 胡乱 胡闹 胡思 胡桃 朱红 朱雀 朱古 高兴 高中 高级 高度 高速 高考 高铁 高大 高手 高温
    高原 高山 高楼 高低 高校 高峰 高档 高效 高质 高价 高层 高空 高尚 高雅 高等 高声 高潮 高跟 高血 高烧 高薪
    高明 高科 林业 林间 林区 林木 林地 何时 何处 何必 何况 何人 何种 何等 何尝 何妨 何苦 郭外 马上 马路 马车
    马虎 马克 马匹 马桶 马戏 马拉 马来 马甲 罗列 罗盘 罗马 罗汉 梁柱 宋朝 宋词 宋代 郑重 谢谢 谢意 谢绝 谢幕
    谢天 韩国 韩语 韩式 韩剧 韩文 韩元 唐朝 唐诗 唐代 唐装 唐突 于是 于此 于今 董事 萧条 萧瑟 程度 程序 程式
    曹操 曾经 曾几 曾祖 彭湃 苏打 苏醒 苏州 苏联 苏格 许多 许可 许愿 许久 许诺 许下 沈阳 丁香 丁丁 丁点 叶子
    叶片 叶绿 余下 余额 余地 余生 余热 余光 余年 杜绝 杜鹃 杜撰 戴上 戴口 戴帽 戴眼 夏天 夏季 夏日 夏令 夏夜
    夏威 夏末 夏至 钟头 钟表 钟点 钟声 钟情 钟爱 钟楼 汪汪 汪洋 田野 田园 田地 田间 田径 田埂 任何 任务 任性
    任意 任凭 任职 任期 任教 任命 任由 姜汁 姜汤 姜茶 姜片 范围 范例 范文 范畴 范本 方便 方法 方向 方式 方面
    方案 方言 方形 方程 方块 方才 方针 方圆 石头 石油 石子 石榴 石板 石器 石块 石墙 石桥 石灰 石材 石柱 熊猫
    熊孩 金钱 金融 金色 金属 金额 金牌 金鱼 金黄 金币 金发 金字 金银 金山 金刚 金秋 陆地 陆续 陆军 陆陆 孔雀
    孔子 孔洞 白天 白色 白菜 白云 白领 白酒 白发 白糖 白纸 白银 白板 白费 白雪 白白 白衣 白兔 白人 白宫 白开
    白痴 白血 康复 康乐 康健 康熙 毛衣 毛巾 毛病 毛笔 毛发 毛毛 毛绒 毛线 毛孔 毛利 毛豆 毛毯 秦朝 秦岭 秦代
    江边 江湖 江水 江南 江山 江苏 江西 江面 江河 史上 史诗 史料 史前 史书 史记 史学 顾客 顾虑 顾问 顾及 顾不
    顾忌 侯爵 孟子 龙虾 龙舟 龙头 龙卷 龙井 龙凤 万一 万元 万岁 万物 万分 万圣 万千 万能 万里 万事 万家 万象
    段时 段落 段子 段位 段路 雷雨 雷达 雷电 雷声 雷同 雷锋 钱包 钱财 钱币 钱款 汤圆 汤匙 汤勺 汤底 汤面 汤汁
    黎明 易懂 易于 易拉 易怒 易碎 常常 常见 常用 常识 常年 常规 常客 常态 常温 常委 常理 武术 武器 武装 武力
    武侠 武打 武功 武汉 武警 乔装 乔木 乔迁 贺卡 贺词 贺年 贺岁 贺礼 贺喜 赖床 赖账 文化 文学 文章 文字 文件
    文具 文明 文艺 文物 文科 文本 文档 文静 文案 文凭 文盲 文书 文献 文娱 文笔 文库 文员 文人 卢布 卢浮 吴语
    赵国 安静""".split()
)
# What stands before 公司, 餐厅 and the like without naming one.
NOT_ORGANISATIONS = frozenset(
    """附近 当地 本地 国内 国外 全国 大型 小型 私立 公立 重点 普通 跨国 外资 互联网 科技 上市 贸易 广告 公共 社区
    学校 城市 高级 著名 知名 新开 名牌 理想 创业 物流 保险 软件 游戏 旅行 旅游 装修 搬家 快递 医药 房地产 母婴
    西式 中式 日式 韩式 法式 意式 墨西哥 意大利 法国 日本 韩国 泰国 印度 美国 中国 英国 德国 自助 快餐 火锅 海鲜
    素食 露天 主题 网红 宠物 儿童 妇产 口腔 牙科 综合 专科 社会 商业 投资 自然 艺术 历史 科学 市立 图书 美术
    羽毛球 足球 篮球 网球 健身 读书 音乐 摄影 乡镇 农村 贵族 同一 其他 另外 目前 以前 现在 原来 以后 整个 所有
    许多 各大 知名 顶尖 好多 老年 职业 师范 技术 民办 电子 律师 设计 咨询 出租车 证券 基金 建筑 农业 食品 服装
    传媒 影视 电影 外贸 家政 会计""".split()
)
HANGUL_TITLES = frozenset(
    """선생 고객 부모 사장 친구 사람 모두 우리 자신 아이 학생 어머 아버 할머 할아버 이모 고모 교수 과장 부장 팀장
    대리 원장 회원 손 하나 장모 형 누 목사 신부 기사 주인 여러분 동생 오빠 언니 아들 조상 임금 도련 아가 날 마음
    솜 글 말 맵 불 아저""".split()
)
HANGUL_SURNAMES = (
    "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진지엄채원천방공현함"
    "변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국"
)
NOT_KANJI_NAMES = frozenset(
    """患者 赤子 本屋 魚屋 花屋 肉屋 皆々 医者 店員 職員 業者 奥様 若者 先生 御客 王子 読者 隣人 双子 団体 大家
    新人 芸人""".split()
)
