"""The table of attributes: key, cardinality, importance, what else it is called, and how to ask which of two is so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# Key, S for one value at a time or M for many, importance = synonyms, then the question in English | in Chinese.
# A key with ":" has a slot for each qualifier; one with "+" is a preference.
_ROWS = """
name S .95 = full name, called, first name, given name, user name, 姓名, 名字, 叫, 全名
    ? Is your name {a} or {b}? | 你叫{a}还是{b}？
preferred_name S .9 = nickname, goes by, known as, called by friends, form of address, 昵称, 小名, 外号, 绰号, 称呼
    ? Shall I call you {a} or {b}? | 我该叫你{a}还是{b}？
age S .8 = years old, age in years, 年龄, 岁数, 年纪
    ? Are you {a} or {b}? | 你的年龄是{a}还是{b}？
birthday S .85 = date of birth, birth date, birthdate, dob, born, born on, 生日, 出生日期
    ? Is your birthday {a} or {b}? | 你的生日是{a}还是{b}？
birthplace S .7 = place of birth, born in, birth city, 出生地
    ? Were you born in {a} or in {b}? | 你出生在{a}还是{b}？
gender S .7 = sex, gender identity, 性别
    ? Is your gender {a} or {b}? | 你的性别是{a}还是{b}？
pronouns S .8 = preferred pronouns, 人称代词
    ? Which pronouns do you use: {a} or {b}? | 你用的人称是{a}还是{b}？
nationality S .75 = citizenship, citizen of, country of citizenship, 国籍
    ? Are you {a} or {b}? | 你的国籍是{a}还是{b}？
height S .6 = body height, tall, 身高
    ? Is your height {a} or {b}? | 你的身高是{a}还是{b}？
weight S .6 = body weight, weighs, 体重
    ? Is your weight {a} or {b}? | 你的体重是{a}还是{b}？
email: S .85 = e mail, email address, mail, 邮箱, 电子邮箱, 邮件地址
    ? Which {of} email address do you use now: {a} or {b}? | 你现在{of}的邮箱是{a}还是{b}？
phone S .85 = phone number, telephone, mobile, cell, mobile number, 电话, 手机号, 手机号码, 电话号码
    ? Which phone number is yours now: {a} or {b}? | 你现在的电话是{a}还是{b}？
timezone S .7 = time zone, tz, 时区
    ? Which time zone are you in: {a} or {b}? | 你在哪个时区：{a}还是{b}？
lives_in S .85 = residence, lives at, live in, lives, living in, home city, hometown now, city, home, address, home
    address, location, resides in, based in, located in, place of residence, moved to, 住址, 居住地, 住在, 家庭住址,
    所在地, 所在城市, 现居地, 居住城市, 地址, 搬到
    ? Where do you live now: {a} or {b}? | 你现在住在{a}还是{b}？
dwelling S .6 = kind of home, type of home, housing type, 住房类型
    ? Do you live in a {a} or in a {b}? | 你住的是{a}还是{b}？
from M .7 = origin, home town, hometown, comes from, place of origin, grew up in, native of, 籍贯, 老家, 家乡, 来自
    ? Are you from {a} or from {b}? | 你老家在{a}还是{b}？
employer S .85 = works at, works for, company, work place, workplace, employed by, employed at, organisation,
    organization, place of work, 公司, 雇主, 工作单位, 单位, 任职于
    ? Where do you work now: {a} or {b}? | 你现在在{a}还是{b}工作？
job S .85 = occupation, profession, job title, position, role, title, works as, career, employment status, 职业,
    工作, 职位, 岗位, 职务, 职称
    ? What is your job now: {a} or {b}? | 你现在的工作是{a}还是{b}？
ceo S .6 = chief executive, chief executive officer, 首席执行官, 总裁
    ? Who is the chief executive now: {a} or {b}? | 现在的首席执行官是{a}还是{b}？
cto S .6 = chief technology officer, 首席技术官
    ? Who is the chief technology officer now: {a} or {b}? | 现在的首席技术官是{a}还是{b}？
cfo S .6 = chief financial officer, 首席财务官
    ? Who is the chief financial officer now: {a} or {b}? | 现在的首席财务官是{a}还是{b}？
coo S .6 = chief operating officer, 首席运营官
    ? Who is the chief operating officer now: {a} or {b}? | 现在的首席运营官是{a}还是{b}？
president S .6 = head of state, 总统
    ? Who is the president now: {a} or {b}? | 现在的总统是{a}还是{b}？
chair S .6 = chairman, chairwoman, chairperson, chair of the board, 董事长
    ? Who is in the chair now: {a} or {b}? | 现在的董事长是{a}还是{b}？
mayor S .6 = 市长
    ? Who is the mayor now: {a} or {b}? | 现在的市长是{a}还是{b}？
prime_minister S .6 = premier, 总理, 首相
    ? Who is the prime minister now: {a} or {b}? | 现在的总理是{a}还是{b}？
principal S .6 = headmaster, headmistress, 校长
    ? Who is the principal now: {a} or {b}? | 现在的校长是{a}还是{b}？
industry S .65 = field of work, sector, works in industry, 行业
    ? Which field do you work in: {a} or {b}? | 你在{a}还是{b}行业工作？
works_in S .65 = work location, city of work, office location, 工作地点, 工作地
    ? Do you work in {a} or in {b}? | 你在{a}还是{b}工作？
salary S .7 = income, pay, 工资, 薪水, 收入, 月薪, 年薪
    ? Is your pay {a} or {b}? | 你的收入是{a}还是{b}？
school S .75 = university, college, studies at, attends, 学校, 就读学校, 大学
    ? Which school do you go to now: {a} or {b}? | 你现在在{a}还是{b}上学？
studies S .75 = major, field of study, subject of study, majoring in, course of study, 专业, 主修
    ? What do you study now: {a} or {b}? | 你学的是{a}还是{b}？
education M .65 = graduated from, alma mater, degree, degree from, 毕业院校, 毕业于, 学历, 学位
    ? Did you graduate from {a} or from {b}? | 你毕业于{a}还是{b}？
grade S .6 = year of school, class, 年级
    ? Which grade are you in: {a} or {b}? | 你上{a}还是{b}？
relationship_status S .8 = marital status, civil status, relationship, 婚姻状况, 感情状况, 婚姻状态
    ? Are you {a} or {b}? | 你现在是{a}还是{b}？
spouse S .9 = wife, husband, married to, 配偶, 妻子, 老婆, 太太, 丈夫, 老公, 先生, 爱人
    ? Is your spouse {a} or {b}? | 你的爱人是{a}还是{b}？
partner S .85 = girlfriend, boyfriend, fiance, fiancee, fiancé, fiancée, significant other, dating, engaged to,
    伴侣, 对象, 女朋友, 男朋友, 女友, 男友, 未婚妻, 未婚夫
    ? Is your partner {a} or {b}? | 你的对象是{a}还是{b}？
mother S .8 = mom, mum, mother's name, 妈妈, 母亲, 妈, 老妈
    ? Is your mother {a} or {b}? | 你的妈妈是{a}还是{b}？
father S .8 = dad, father's name, 爸爸, 父亲, 爸, 老爸
    ? Is your father {a} or {b}? | 你的爸爸是{a}还是{b}？
sister M .75 = sisters, has sister, 姐姐, 妹妹, 姐妹, 姐, 妹
    ? Is your sister {a} or {b}? | 你的姐妹是{a}还是{b}？
brother M .75 = brothers, has brother, 哥哥, 弟弟, 兄弟, 哥, 弟
    ? Is your brother {a} or {b}? | 你的兄弟是{a}还是{b}？
child M .85 = son, daughter, kid, baby, 孩子, 儿子, 女儿, 宝宝
    ? Is your child {a} or {b}? | 你的孩子是{a}还是{b}？
children S .75 = number of children, kids, number of kids, 孩子数量, 子女数, 子女
    ? Do you have {a} or {b} children? | 你有{a}还是{b}孩子？
grandparent M .65 = grandmother, grandfather, grandma, grandpa, granny, 奶奶, 爷爷, 外婆, 外公, 姥姥, 姥爷
    ? Is your grandparent {a} or {b}? | 你的祖辈是{a}还是{b}？
relative M .6 = aunt, uncle, cousin, niece, nephew, in law, mother in law, father in law, 亲戚, 叔叔, 阿姨, 舅舅,
    姑姑, 表哥, 表姐, 表弟, 表妹, 堂哥, 堂弟, 堂姐, 堂妹, 侄子, 侄女, 岳父, 岳母, 婆婆, 公公
    ? Is your relative {a} or {b}? | 你的亲戚是{a}还是{b}？
friend M .7 = best friend, friends with, buddy, 朋友, 好友, 闺蜜, 好朋友, 最好的朋友
    ? Is your friend {a} or {b}? | 你的朋友是{a}还是{b}？
roommate M .6 = flatmate, housemate, 室友, 舍友
    ? Is your roommate {a} or {b}? | 你的室友是{a}还是{b}？
colleague M .6 = coworker, co worker, teammate, 同事
    ? Is your colleague {a} or {b}? | 你的同事是{a}还是{b}？
neighbour M .5 = neighbor, 邻居
    ? Is your neighbour {a} or {b}? | 你的邻居是{a}还是{b}？
boss S .7 = manager, supervisor, reports to, line manager, 老板, 上司, 领导, 经理, 主管
    ? Is your boss {a} or {b}? | 你的上司是{a}还是{b}？
teacher M .6 = coach, mentor, professor, tutor, advisor, 老师, 导师, 教练
    ? Is your teacher {a} or {b}? | 你的老师是{a}还是{b}？
doctor M .6 = physician, therapist, dentist, 医生, 牙医
    ? Is your doctor {a} or {b}? | 你的医生是{a}还是{b}？
pet M .75 = pets, dog, cat, has pet, 宠物, 狗, 猫
    ? Is your pet {a} or {b}? | 你的宠物是{a}还是{b}？
owns M .6 = has, possesses, bought, possession, owner of, drives, 拥有, 有, 买了
    ? Do you have {a} or {b}? | 你有{a}还是{b}？
uses: S .6 = using, switched to, 使用, 换成, 用的
    ? Which {of} do you use now: {a} or {b}? | 你现在用的{of}是{a}还是{b}？
allergic_to M .95 = allergy, allergies, allergic, 过敏, 过敏源, 对什么过敏, 过敏史
    ? Are you allergic to {a} or to {b}? | 你对{a}还是{b}过敏？
diet S .85 = dietary preference, dietary restriction, eating habit, 饮食, 饮食习惯, 饮食限制
    ? What is your diet now: {a} or {b}? | 你现在的饮食是{a}还是{b}？
health M .85 = medical condition, condition, illness, disease, diagnosis, diagnosed with, suffers from, health
    condition, 健康, 疾病, 病史, 健康状况, 病
    ? Do you have {a} or {b}? | 你有{a}还是{b}？
speaks M .7 = language, languages, speaks language, native language, mother tongue, first language, 语言, 会说, 母语
    ? Do you speak {a} or {b}? | 你说{a}还是{b}？
learning M .65 = learns, is learning, studying now, 在学, 学习
    ? Are you learning {a} or {b}? | 你在学{a}还是{b}？
knows M .65 = skill, skills, can do, proficient in, expertise, experienced in, 技能, 会, 擅长
    ? Do you know {a} or {b}? | 你会{a}还是{b}？
status S .7 = state, project status, current status, 状态, 进度, 进展
    ? What is the status now: {a} or {b}? | 现在的状态是{a}还是{b}？
deadline: S .85 = due, due date, due on, 截止日期, 截止时间, 期限, 截止
    ? When is the {of} deadline: {a} or {b}? | {of}的截止日期是{a}还是{b}？
date: S .8 = scheduled for, takes place on, appointment time, 日期, 时间定在
    ? When is the {of}: {a} or {b}? | {of}的日子是{a}还是{b}？
personal_best: S .7 = pb, pr, best time, record time, personal record, 最好成绩, 个人纪录
    ? What is your {of} time now: {a} or {b}? | 你的{of}成绩现在是{a}还是{b}？
plan M .7 = plans, plans to, intends to, going to, will, intention, 计划, 打算, 准备
    ? Do you plan to {a} or to {b}? | 你打算{a}还是{b}？
goal M .7 = goals, wants to, aims to, aim, dream, wish, 目标, 梦想, 愿望
    ? Is your goal to {a} or to {b}? | 你的目标是{a}还是{b}？
event M .65 = attended, happened, did, took part in, appointment, 事件, 参加, 经历
    ? Was it {a} or {b}? | 是{a}还是{b}？
routine M .65 = habit, habits, does regularly, daily routine, schedule, 习惯, 日常
    ? Which is your habit now: {a} or {b}? | 你现在的习惯是{a}还是{b}？
visited M .6 = has been to, went to, travelled to, traveled to, 去过, 到过
    ? Did you visit {a} or {b}? | 你去过{a}还是{b}？
hobby+ M .7 = hobbies, pastime, pastimes, 爱好, 兴趣, 兴趣爱好
    ? Is your hobby {a} or {b}? | 你的爱好是{a}还是{b}？
likes+ M .7 = loves, enjoys, like, love, fan of, interested in, into, preference, dislikes, hates, dislike, hate,
    avoids, 喜欢, 爱, 热爱, 偏好, 喜爱, 讨厌, 不喜欢, 厌恶
    ? Which do you like: {a} or {b}? | 你喜欢{a}还是{b}？
prefers+ M .75 = prefer, rather, would rather, preferred, 更喜欢, 宁愿, 倾向于
    ? Which do you prefer: {a} or {b}? | 你更喜欢{a}还是{b}？
favourite:+ S .7 = favorite, fave, favourite thing, 最喜欢, 最爱
    ? What is your favourite {of} now: {a} or {b}? | 你现在最喜欢的{of}是{a}还是{b}？
answer_style+ M .85 = response style, communication style, reply style, writing style, tone, 回答风格, 沟通风格,
    回复风格
    ? How shall I answer: {a} or {b}? | 我该怎么回答：{a}还是{b}？
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table, read."""

    key: str
    qualified: bool
    preference: bool
    single: bool
    importance: float
    synonyms: tuple[str, ...]
    english: str
    chinese: str


def rows() -> Iterator[Row]:
    """The table, in order."""
    head = ""
    for line in _ROWS.strip().splitlines():
        if not line.startswith("    ? "):
            head += " " + line.strip()
            continue
        words, _, synonyms = head.partition(" = ")
        name, cardinality, importance = words.split()
        english, chinese = line[6:].split(" | ")
        names = tuple(synonym.strip() for synonym in synonyms.split(","))
        single = cardinality == "S"
        yield Row(name.rstrip(":+"), ":" in name, "+" in name, single, float(importance), names, english, chinese)
        head = ""
